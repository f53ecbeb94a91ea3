"""Prove how few equal bins balls need, and find packings of so many, by linear programs over ways to fill one bin."""
