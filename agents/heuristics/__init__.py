"""Decides by hand-made rules, one short file each: for servers, for networks, for virtual networks, or for all."""
