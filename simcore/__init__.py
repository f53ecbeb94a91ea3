"""The bottom of Binwright's ladder: vocabulary, engine on SimPy, records, random streams, errors, registry."""
