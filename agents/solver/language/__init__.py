"""Read the language of specifications: from text to tree, constants and tables; evaluate UTILFN from its tree."""
