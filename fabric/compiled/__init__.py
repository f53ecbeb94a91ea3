"""Plays whole runs in machine code, to the number as `simcore.engine` has them: docs/developers/compiled-runs.md."""
