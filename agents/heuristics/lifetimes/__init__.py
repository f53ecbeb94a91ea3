"""Agents that place by how long requests are expected to stay."""
