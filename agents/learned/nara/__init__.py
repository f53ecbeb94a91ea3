"""Nara: a graph neural network that chooses servers (arXiv:2106.02412)."""
