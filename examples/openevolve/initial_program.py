"""Where the search begins: what a place scores. The request goes where the score is highest."""


# EVOLVE-BLOCK-START
def score(server_free_cpu, free_cpu):
    """Fill the fullest server first, and there the fullest node."""
    return -server_free_cpu - free_cpu / 1000


# EVOLVE-BLOCK-END
