"""Tests of the movers that search."""
