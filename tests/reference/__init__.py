"""The slow, obvious rules, in plain Python: what the code is held to."""
