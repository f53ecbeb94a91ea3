"""Learns by evolution a small network that scores servers and whole placements in a network."""
