"""What agents on servers are made of whose rule is one kernel."""
