"""The bottom of the ladder: vocabulary, engine on SimPy, records, random streams, errors, registry."""
