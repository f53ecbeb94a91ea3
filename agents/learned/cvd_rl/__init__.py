"""CVD-RL: the cluster's value as the sum of its servers' values, chosen by from a few candidates."""
