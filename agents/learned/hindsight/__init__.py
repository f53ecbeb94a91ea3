"""A policy that imitates plans made in hindsight (arXiv:2207.06272)."""
