"""Learns to imitate plans made in hindsight (arXiv:2207.06272)."""
