"""The metrics of every run: those that share their arrays are in one file."""
