"""What learners on servers with two NUMA nodes share."""
