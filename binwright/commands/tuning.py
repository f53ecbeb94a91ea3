"""`tune`: finds the numeric options with which an agent does best in a scenario."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import yaml

from binwright.commands.console import note, out, print_line, print_location
from binwright.commands.progress import CountProgress
from binwright.simcore.errors import UserError


def tune(args: Namespace) -> int:
    """`binwright tune FILE --agent AGENT --param OPTION=LOW..HIGH ...`."""
    from binwright.scenarios.learn.tune import tune as search
    from binwright.scenarios.schema.load import folder_for, load_scenario

    scenario = load_scenario(args.file, args.sets)
    folder = folder_for(scenario, args.out, "tuning")
    with CountProgress() as line:

        def watch(row: dict[str, Any]) -> None:
            note(_said(row, args.metric))

        found = search(
            scenario,
            agent=agent_of(args.agent),
            params=_params(args.params),
            metric=args.metric,
            rounds=args.rounds,
            population=args.population,
            seeds=args.seeds,
            held_out=args.held_out,
            jobs=args.jobs,
            out=folder,
            on_progress=watch,
            finished=line,
        )
    out.print(found.comparison.rich(out.width))
    print_line((folder / "tuned.yaml").read_text("utf-8").rstrip("\n"))
    print_location(f"Answer: {folder}/tuned.yaml. Log: {folder}/log.parquet. Held-out runs: {folder}/held-out")
    return 0


def agent_of(text: str) -> Any:
    """Read an agent: a name, or a mapping in YAML."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        remedy = "Write a name, or '{name: {option: value}}'."
        raise UserError("is not an agent", key="--agent", value=text, remedy=remedy) from None


def _params(texts: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, between = text.partition("=")
        if not equals or name in found:
            problem = "this option has a range already" if equals else "is not a range of an option"
            raise UserError(problem, key="--param", value=text, remedy="Write it once, as in stranded=0..2.")
        found[name] = between
    return found


def _said(row: dict[str, Any], metric: str) -> str:
    options = ", ".join(f"{key} {value:g}" for key, value in list(row.items())[6:])
    name = "held out" if row["split"] == "validation" else f"round {row['step']}" if row["step"] else "as it is"
    gained = f"{metric} {row[metric]:.4g} ({row['gain']:+.4f})"
    return f"{name}: {gained}, {row['seconds']:.0f} s of runs{': ' * bool(options)}{options}"
