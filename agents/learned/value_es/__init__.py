"""Learns a value of every server by an evolution strategy."""
