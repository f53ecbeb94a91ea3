"""Training and tuning agents in a scenario."""
