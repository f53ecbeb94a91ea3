"""Hand-made rules, one short file each."""
