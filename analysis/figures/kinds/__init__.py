"""The figures, one in a file."""
