"""Measurements: `make bench`, and the experiments behind numbers in docs/."""
