"""Learns a policy that is told what an LSTM expects of the next requests."""
