"""Learns by a dueling double DQN that sees the whole cluster, for one number of servers: SchedRL."""
