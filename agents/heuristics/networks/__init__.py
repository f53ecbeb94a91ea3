"""Decides by simple rules for networks, where a request takes what it needs from several connected servers."""
