"""Solve a problem: from the problem to a verified answer."""
