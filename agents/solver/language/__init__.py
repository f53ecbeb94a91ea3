"""The language of specifications: from text to tree, constants and tables, and UTILFN evaluated from its tree."""
