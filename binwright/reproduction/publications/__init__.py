"""Each publication in a file: what is run of it, and why the rest is not."""
