"""Learns a graph neural network that chooses servers: Nara (arXiv:2106.02412)."""
