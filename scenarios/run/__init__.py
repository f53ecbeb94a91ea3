"""One run: checking, playing, measuring and recording it."""
