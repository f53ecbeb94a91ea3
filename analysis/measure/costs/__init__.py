"""What servers draw and cost: the keys of `costs:`, who did what for how long, the bill, and its metrics."""
