"""Plays runs on arrays in machine code: docs/developers/compiled-runs.md."""
