"""Decides by hand-made rules for servers with devices, one short file each."""
