"""Offline placement: heuristics, our searches and rivals, for equal bins of which as few as possible are used."""
