"""Learns the order of a batch queue by proximal policy optimisation: RLScheduler."""
