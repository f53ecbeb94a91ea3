"""Plays whole runs in machine code, number for number as `simcore.engine` defines them: docs/compiled-runs.md."""
