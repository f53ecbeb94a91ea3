"""What learners in networks share."""
