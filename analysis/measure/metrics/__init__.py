"""The metrics by the name that scenarios ask for: each file has tables of name, heading, meaning and function."""

from typing import Any

from binwright.analysis.measure.metrics import cluster, features, requests

TABLE = requests.TABLE | cluster.TABLE | features.TABLE


def __getattr__(name: str) -> Any:
    if name not in TABLE:
        raise AttributeError(f"there is no metric {name}")
    return TABLE[name]
