"""Scenarios as Gymnasium environments, and what a learner sees of a network."""
