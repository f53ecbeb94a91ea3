"""First scenarios, written from a trace, from what was fitted to one, or from a few answers."""
