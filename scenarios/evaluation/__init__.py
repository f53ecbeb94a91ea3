"""Scores policies that somebody, or a program, proposes: in memory, on seeds that are prepared once."""
