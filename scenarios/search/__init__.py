"""Search for rules: genetic programming over formulas."""
