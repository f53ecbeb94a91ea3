"""Builds agents for servers whose rule is one kernel."""
