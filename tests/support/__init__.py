"""What tests share: where the repository is, and, module by module, what several of them build or look at."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The repository's root."""
