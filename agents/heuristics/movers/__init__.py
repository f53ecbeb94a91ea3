"""Movers that follow simple rules: they say what runs is to be moved, and where to."""
