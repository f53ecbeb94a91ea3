"""Movers: rules that decide what is moved, and where to."""
