"""Movers that search from where things are."""
