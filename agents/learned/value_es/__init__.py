"""Our learned placement on NUMA servers: a value of every machine, found by an evolution strategy."""
