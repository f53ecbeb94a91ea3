"""The parsers of `train`, `tune`, `evaluate` and `search`."""

from __future__ import annotations

import argparse
from typing import Any

from binwright.parser.options import add_sets, add_several, add_where_runs


def add_train(commands: argparse._SubParsersAction[Any]) -> None:
    """Add `train`."""
    train = commands.add_parser(
        "train",
        help="train an agent as the scenario's `train:` says",
        description="Teach an agent what a scenario's `train:` says. The same command goes on from its folder: after "
        "an interruption, or with more iterations.",
    )
    train.set_defaults(answer="training.train")
    train.add_argument("file", help="a scenario file, or the name of a shipped one (nara/train-alpha)")
    add_sets(train)
    train.add_argument("--out", help="folder of logs and weights (default: results/NAME/training)")
    train.add_argument("--jobs", type=int, metavar="N", help="seeds and settings at a time (default: one per CPU)")
    train.add_argument("--fresh", action="store_true", help="begin again, whatever the folder has already")
    train.add_argument("--dry-run", action="store_true", help="say what the training will cost, and write nothing")


def add_tune(commands: argparse._SubParsersAction[Any]) -> None:
    """Add `tune`."""
    tune = commands.add_parser("tune", help="find the numeric options with which an agent does best")
    tune.set_defaults(answer="tuning.tune")
    tune.add_argument("file", metavar="FILE", help="a scenario file, or the name of a shipped one (nara/table1)")
    tune.add_argument("--agent", required=True, help="best-home, or with options that stay: '{best-home: {links: 2}}'")
    add_several(
        tune,
        "--param",
        "params",
        "OPTION=RANGE",
        "what is searched, as in stranded=0..2, or penalty=0.01..1:log for what varies by orders of magnitude",
    )
    tune.add_argument("--metric", default="acceptance", help="of which the best mean is searched (default: acceptance)")
    tune.add_argument("--rounds", type=int, default=20, metavar="N", help="default: 20")
    tune.add_argument("--population", type=int, default=16, metavar="N", help="candidates in a round (default: 16)")
    tune.add_argument("--seeds", type=int, default=8, metavar="N", help="that each of them is tried on (default: 8)")
    tune.add_argument("--held-out", type=int, default=100, metavar="N", help="seeds at the end (default: 100)")
    tune.add_argument("--seed", type=int, default=0, metavar="N", help="of the search itself (default: 0)")
    add_sets(tune)
    add_where_runs(tune)
    tune.add_argument("--out", help="folder of the answer, the log and the runs (default: results/NAME/tuning)")


def add_evaluate(commands: argparse._SubParsersAction[Any]) -> None:
    """Add `evaluate`."""
    evaluate = commands.add_parser(
        "evaluate",
        help="score a rule that somebody, or a program, proposes",
        description="Score a policy beside a baseline on the same seeds, in memory. Source of a file is not trusted: "
        "it is played with limits, and never imported.",
    )
    evaluate.takes_expressions = True
    evaluate.set_defaults(answer="evaluating.evaluate")
    evaluate.add_argument(
        "policy",
        metavar="POLICY",
        help="an expression, FILE.py:function (default: score), or an agent as in a scenario",
    )
    evaluate.add_argument(
        "--scenario", required=True, metavar="FILE", help="a scenario file, or the name of a shipped one"
    )
    evaluate.add_argument("--metric", default="acceptance", help="what is scored (default: acceptance)")
    evaluate.add_argument("--baseline", metavar="POLICY", help="what it is compared with (default: the first agent)")
    evaluate.add_argument("--seeds", type=int, default=20, metavar="N", help="default: 20")
    evaluate.add_argument(
        "--on", choices=("search", "validation", "test"), default="search", help="which seeds (default: search)"
    )
    evaluate.add_argument("--seconds", type=float, default=10.0, metavar="S", help="limit of a function (default: 10)")
    evaluate.add_argument("--memory", type=int, default=512, metavar="MB", help="limit of a function (default: 512)")
    evaluate.add_argument("--json", action="store_true", help="print all of it as JSON")
    add_sets(evaluate)


def add_search(commands: argparse._SubParsersAction[Any]) -> None:
    """Add `search`."""
    search = commands.add_parser(
        "search",
        help="find a rule of placement: a race of random formulas",
        description="Find a formula that places better than the heuristics do, and say what it is worth on seeds that "
        "the search never met. The same command goes on from its folder: after an interruption, or with more time.",
    )
    search.set_defaults(answer="searching.search")
    search.add_argument("file", metavar="FILE", help="a scenario file, or the name of a shipped one")
    add_sets(search)
    search.add_argument("--metric", default="acceptance", help="its best mean is searched (default: acceptance)")
    search.add_argument("--evaluations", type=int, metavar="N", help="plays of a rule on a seed (default: 100,000)")
    search.add_argument("--minutes", type=float, metavar="M", help="of playing, instead of or beside --evaluations")
    search.add_argument("--seeds", type=int, default=200, metavar="N", help="of the search (default: 200)")
    search.add_argument("--validation", type=int, default=400, metavar="N", help="seeds of the choice (default: 400)")
    search.add_argument("--test", type=int, default=100, metavar="N", help="seeds of the last table (default: 100)")
    search.add_argument("--seed", type=int, default=0, metavar="N", help="of the search itself (default: 0)")
    search.add_argument("--jobs", type=int, metavar="N", help="plays at a time (default: one per CPU)")
    search.add_argument("--out", help="folder of what is found and of the journal (default: results/NAME/search)")
    search.add_argument("--fresh", action="store_true", help="begin again, whatever the folder has already")
