"""Learns to defragment by moves: which request, then where to."""
