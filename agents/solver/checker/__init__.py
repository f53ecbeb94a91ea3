"""From the tree of UTILFN to a program, and what is proven about it."""
