"""One run: the clock, the waiting line, and what happens to requests and servers."""
