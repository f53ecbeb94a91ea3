"""What a run measures, while it goes on and when it is over."""
