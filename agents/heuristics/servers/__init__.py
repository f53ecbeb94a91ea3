"""Decides by simple rules for servers with NUMA nodes: every request goes to one place."""
