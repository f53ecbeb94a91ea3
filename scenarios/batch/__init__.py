"""Many runs: what is done, what is missing, and who does it."""
