"""The data of an allocation problem, and what can be said of it without a search."""
