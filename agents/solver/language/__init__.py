"""Read the language of specifications: from text to tree, constants, tables and programs."""
