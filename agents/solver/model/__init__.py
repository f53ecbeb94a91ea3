"""Describe an allocation problem, and say of it what can be said without a search."""
