"""Our learned placement on NUMA servers: a value of every server, found by an evolution strategy."""
