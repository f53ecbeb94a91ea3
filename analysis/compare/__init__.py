"""Agents beside one another: statistics, tables, comparisons."""
