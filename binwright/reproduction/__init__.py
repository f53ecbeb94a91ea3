"""Published numbers beside ours: what is published, the runs that a publication describes, and a verdict on each."""

PUBLICATIONS = ("nara", "cvd-rl", "wrasse", "spane", "fgd", "rlscheduler", "funsearch", "adrs")
"""Their names; `binwright.reproduction.publications` has a module for each."""
