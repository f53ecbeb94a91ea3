"""Check UTILFN: make a program from its tree, and note what is proven about it."""
