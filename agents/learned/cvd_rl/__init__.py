"""CVD-RL: the cluster's value as the sum of its machines' values, chosen by from a few candidates."""
