"""Trains agents of every method: the course, checkpoints, optimisers."""
