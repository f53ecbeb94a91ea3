"""Simple rules for networks: a request takes what it needs from several servers that links connect."""
