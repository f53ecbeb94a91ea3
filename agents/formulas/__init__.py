"""Rules that are formulas: what a place scores, written as an expression or a short function, and never compiled."""
