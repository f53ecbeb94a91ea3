"""Options that several commands have."""

from __future__ import annotations

import argparse


def add_several(to: argparse._ActionsContainer, option: str, dest: str, metavar: str, help: str) -> None:
    """Add an option that may be given several times."""
    to.add_argument(option, dest=dest, action="append", default=[], metavar=metavar, help=help)


def add_sets(to: argparse._ActionsContainer, help: str = "change a value", metavar: str = "KEY=VALUE") -> None:
    """Add `--set`."""
    add_several(to, "--set", "sets", metavar, help)


def add_heading(to: argparse._ActionsContainer) -> None:
    """Add `--heading`, which every command has that shows results."""
    add_several(to, "--heading", "headings", "NAME=TEXT", "what to call an agent, a swept key or a metric")


def add_where_runs(to: argparse._ActionsContainer) -> None:
    """Add `--jobs` and `--on`."""
    to.add_argument("--jobs", type=int, metavar="N", help="runs at a time (default: one per CPU)")
    to.add_argument("--on", default="local", help="where runs are done: local (default), ray, or ray://HOST:PORT")
