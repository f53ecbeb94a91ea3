"""Limits of specifications: what goes beyond them is refused, so that none takes for ever or fills the memory."""

TEXT_LIMIT = 100_000
"""Letters; larger tables belong into a file."""
DEPTH_LIMIT = 80
"""How deep expressions and blocks may nest, a chain of operators counting as nested."""
STEP_LIMIT = 1_000_000
"""Nodes evaluated for the constants of one specification, and nodes that one call of UTILFN may evaluate."""
LOOP_LIMIT = 6
"""Loops and sums in one another."""
ENTRY_LIMIT = 20_000_000
"""Entries of one table."""
DATA_LIMIT = 50_000_000
"""Entries of all tables that a program reads."""
COUNT_LIMIT = 1_000_000
"""Balls, bins, members of sets."""
INDEX_LIMIT = 8
"""Indices of a table or a resource."""
DIM_LIMIT = 5_000_000
"""Dimensions."""
LARGEST = 10**9
"""No number that is written, and no entry of a table, is larger."""
