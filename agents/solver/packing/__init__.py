"""Pack balls into as few equal bins as possible, all known at once: heuristics, and our searches."""
