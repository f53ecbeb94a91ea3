"""Rules of placement: what they say, and the ledgers that keep them."""
