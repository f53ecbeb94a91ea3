"""Simple rules for servers with NUMA nodes: one request, one place."""
