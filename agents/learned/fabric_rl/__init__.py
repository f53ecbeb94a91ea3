"""Our learned placement in networks: a small network that scores servers and whole placements, found by evolution."""
