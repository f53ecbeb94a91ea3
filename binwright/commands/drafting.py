"""`init`: a first scenario, from five answers."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import yaml

from binwright.commands.console import print_line, print_location
from binwright.commands.traces import say_written
from binwright.simcore.errors import UserError, suggest

T = TypeVar("T")
OVERFLOWS = ("drop", "wait", "stop")


def init(args: Namespace) -> int:
    """Answer `binwright init`."""
    from binwright.scenarios.draft.first_scenario import begin, node_of
    from binwright.scenarios.draft.request_source import asked_of
    from binwright.scenarios.draft.text import AGENTS, write_new
    from binwright.scenarios.run.check import impossible_of
    from binwright.scenarios.schema.load import load_scenario

    target = Path(args.out)
    if target.exists():
        raise UserError("is there already", file=target, remedy="Name another file with --out, or remove this one.")
    talk = sys.stdin.isatty() and sys.stdout.isatty()
    if talk:
        print_line("Five questions; Enter takes what is in brackets.")

    def answer(option: str, question: str, read: Callable[[str], T], default: str, otherwise: T) -> T:
        """Take an option, or ask for it until the answer can be read."""
        given = getattr(args, option)
        if given is not None or not talk:
            return otherwise if given is None else read(str(given))
        while True:
            try:
                text = input(f"{question} [{default}] ").strip()
            except EOFError:
                text = ""
            if not text:
                return otherwise
            try:
                return read(text)
            except UserError as error:
                print(error)

    def file_of(text: str) -> str:
        asked_of(text)
        return text

    requests = answer("requests", "Whose requests? A CSV or Parquet file, or a trace", file_of, "generated", None)
    enough = "about enough" if requests else "10"
    servers = answer("servers", "How many servers?", _whole, enough, None)
    usual = "what goes with that" if requests else "cpu: 64, mem: 256 GB"
    node = answer("node", "What does each server have?", node_of, usual, None)
    overflow = answer("overflow", "A request that fits nowhere: drop, wait or stop?", _overflow, "drop", "drop")
    agents = answer("agents", "Which agents, with commas?", _agents, ",".join(AGENTS), list(AGENTS))
    write_new(args.out, begin(requests, servers, node, overflow, agents, target.parent))
    if doubt := impossible_of(load_scenario(args.out)):
        print_location(f"? {doubt}")
    say_written(args.out)
    return 0


def _whole(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise UserError("is not a number of servers", key="servers", value=text, remedy="Write a whole number from 1.")
    return int(text)


def _overflow(text: str) -> str:
    if text not in OVERFLOWS:
        raise UserError("is not a way to overflow", key="overflow", value=text, remedy=suggest(text, OVERFLOWS))
    return text


def _agents(text: str) -> list[Any]:
    """Read agents, some of them with options."""
    from binwright.scenarios.draft.first_scenario import checked_agents

    try:
        found = yaml.safe_load(f"[{text}]")
    except yaml.YAMLError:
        raise UserError("is not a list", key="agents", value=text, remedy="Write first-fit, best-fit.") from None
    return checked_agents(found)
