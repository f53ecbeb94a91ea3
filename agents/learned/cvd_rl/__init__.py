"""Learns the cluster's value as the sum of its servers' values, and chooses from a few candidates: CVD-RL."""
