"""Binwright's scenario files: their schema, loading them, and planning the runs that they ask for."""
