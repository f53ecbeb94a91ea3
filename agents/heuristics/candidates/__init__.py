"""Makes several placements of a request in a network, and takes the cheapest."""
