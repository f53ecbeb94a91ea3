"""Shares what learners in networks have in common."""
