"""Binwright's resource models: servers with NUMA nodes, and the ledger that alone changes what is free."""
