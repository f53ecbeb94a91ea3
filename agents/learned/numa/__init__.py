"""Shares what learners on servers with NUMA nodes have in common."""
