"""Whole runs in machine code, number for number those of `simcore.engine`."""
