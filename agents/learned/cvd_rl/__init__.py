"""CVD-RL: the cluster's value as the sum of its servers' values, chosen from a few candidates."""
