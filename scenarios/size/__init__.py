"""How many servers each agent needs until a metric meets a target."""
