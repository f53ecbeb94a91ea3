"""Numbers for a monitoring system, in the text format of Prometheus (version 0.0.4)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import NamedTuple

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 60.0, 150.0, 600.0, 3600.0)
"""Seconds: the upper ends of a histogram's buckets."""
Labels = Mapping[str, str]


class Histogram:
    """How many values are at most each bound, and their sum."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(BOUNDS, value)] += 1
        self._sum += value

    def samples(self) -> Iterator[tuple[str, Labels, float]]:
        """Give its samples: what stands behind the name, labels, and value."""
        below = 0
        for bound, count in zip((*BOUNDS, inf), self._counts, strict=True):
            below += count
            yield "_bucket", {"le": _number(bound)}, below
        yield "_sum", {}, self._sum
        yield "_count", {}, below


class Metric(NamedTuple):
    """A metric with its samples: labels and value each, or a histogram."""

    name: str
    kind: str
    """`counter`, `gauge` or `histogram`."""
    help: str
    samples: Iterable[tuple[Labels, float]] | Histogram


def page(metrics: Iterable[Metric]) -> str:
    """Write metrics as Prometheus reads them."""
    return "".join(f"{line}\n" for metric in metrics for line in _lines(metric))


def _lines(metric: Metric) -> Iterator[str]:
    name = f"binwright_{metric.name}"
    yield f"# HELP {name} {metric.help}"
    yield f"# TYPE {name} {metric.kind}"
    if isinstance(metric.samples, Histogram):
        for ending, labels, value in metric.samples.samples():
            yield f"{name}{ending}{_labels(labels)} {_number(value)}"
    else:
        for labels, value in metric.samples:
            yield f"{name}{_labels(labels)} {_number(value)}"


def _labels(labels: Labels) -> str:
    said = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{said}}}" if said else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return "+Inf" if value == inf else f"{value:.15g}"
