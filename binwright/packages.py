"""Whose package is it? Binwright's other packages have plain names, which others use as well."""

from __future__ import annotations

import sys
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

PACKAGES = ("agents", "analysis", "fabric", "scenarios", "simcore", "workloads")
"""What lies beside this package. Each says in its `__init__.py` that it is Binwright's."""


@cache
def check() -> None:
    """Raise `ImportError` if Python would take something else for one of Binwright's packages, saying what and why."""
    for name in PACKAGES:
        expected = Path(__file__).resolve().parents[1] / name / "__init__.py"
        found = _found(name)
        if found is None:
            raise ImportError(f"Binwright's package {name} is not at {expected.parent}: install Binwright again")
        if found != expected:
            raise ImportError(
                f"{found} hides Binwright's package {name}, which is at {expected.parent}. Rename it, or start"
                " Python where it does not look there: the command `binwright`, and `python -P -m binwright`, leave out"
                " the folder that they are started in"
            )
        if b"binwright" not in expected.read_bytes().lower():
            raise ImportError(
                f"{expected} is not Binwright's any more{_brought_by(name)}. Install Binwright into an environment of"
                " its own: `pipx install`, `uv tool install`, or `python -m venv`"
            )


def _found(name: str) -> Path | None:
    """Find the file of what Python takes for a package, or has taken already."""
    loaded = sys.modules.get(name)
    spec = loaded.__spec__ if loaded else PathFinder.find_spec(name)
    return Path(spec.origin).resolve() if spec and spec.origin else None


def _brought_by(name: str) -> str:
    """Which other installed distributions bring a package of this name, as the end of a sentence."""
    from importlib.metadata import packages_distributions

    others = sorted(set(packages_distributions().get(name, ())) - {"binwright"})
    return f": {', '.join(others)} brought another package of this name" if others else ""
