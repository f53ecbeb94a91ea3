"""`tune`, `search` and `evaluate`: options and rules that do best in a scenario."""

import json
from argparse import Namespace
from math import isnan
from time import monotonic
from typing import Any

from binwright.analysis.measure.metric import duration
from binwright.cli import FAILED
from binwright.commands.console import new_table, note, out, pair, print_line, print_location, read_yaml
from binwright.commands.progress import Live, StatusLine
from binwright.scenarios.schema.load import folder_for, load_scenario


def tune(args: Namespace) -> int:
    """Answer `binwright tune FILE --agent AGENT --param OPTION=LOW..HIGH ...`."""
    from binwright.scenarios.learn.tune import tune as find

    scenario = load_scenario(args.file, args.sets)
    folder = folder_for(scenario, args.out, "tuning")
    params = dict(pair("--param", text) for text in args.params)

    def on_progress(row: dict[str, Any]) -> None:
        options = ", ".join(f"{key} {value:g}" for key, value in list(row.items())[6:])
        name = "held out" if row["split"] == "validation" else f"round {row['step']}" if row["step"] else "as it is"
        gained = f"{args.metric} {row[args.metric]:.4g} ({row['gain']:+.4f})"
        note(f"{name}: {gained}, {row['seconds']:.0f} s of runs{': ' * bool(options)}{options}")

    how = {name: getattr(args, name) for name in ("metric", "rounds", "population", "seeds", "held_out", "jobs")}
    agent = read_yaml("--agent", args.agent)
    with Live() as line:
        result = find(scenario, agent=agent, params=params, out=folder, on_progress=on_progress, finished=line, **how)
    out.print(result.comparison.rich(out.width))
    print_line((folder / "tuned.yaml").read_text("utf-8").rstrip("\n"))
    print_location(f"Answer: {folder}/tuned.yaml. Log: {folder}/log.parquet. Held-out runs: {folder}/held-out")
    return 0


def search(args: Namespace) -> int:
    """Answer `binwright search FILE`."""
    from binwright.scenarios.search.search import search as find

    scenario, began = load_scenario(args.file, args.sets), monotonic()
    with StatusLine("search", args.evaluations, detail="running first-fit first") as line:

        def on_progress(evaluations: int, best: str, mean: float) -> None:
            then = "validation and test follow, " * (evaluations >= args.evaluations)
            line.reached(evaluations, duration(monotonic() - began), f"{then}best {mean:.5g}: {best}")

        how = {name: getattr(args, name) for name in ("metric", "evaluations", "jobs", "out")}
        result = find(scenario, on_progress=on_progress, **how)
    table = new_table("", ">search", ">validation", "rule")
    for row in result.finalists.iter_rows(named=True):
        table.add_row("*" if row["chosen"] else "", f"{row['search']:.5g}", f"{row['validation']:.5g}", row["rule"])
    out.print(table)
    print_line("* chosen: the best on the seeds of validation.\n")
    out.print(result.comparison.rich(out.width))
    folder = result.results.folder.parent
    print_line((folder / "found.yaml").read_text("utf-8").rstrip("\n"))
    print_location(f"Rule: {folder}/found.yaml. Runs: {folder}/test")
    return 0


def evaluate(args: Namespace) -> int:
    """Answer `binwright evaluate POLICY --scenario FILE`: score it beside the first agent, in memory."""
    from binwright.scenarios.evaluation.evaluator import Evaluator

    scenario = load_scenario(args.scenario, args.sets)
    policy = read_yaml("POLICY", args.policy) if args.policy.lstrip().startswith("{") else args.policy
    result = Evaluator(scenario, metric=args.metric, seeds=args.seeds)(policy)
    if args.json:
        print_line(json.dumps(result.as_json(), allow_nan=False))
    elif isnan(result.score):
        print_line(f"{result.policy}: {result.reason}")
    else:
        print_line(result.policy)  # of any length, so that no column cuts it
        table = new_table(f">{result.metric}", ">more than the baseline", ">95 % interval", ">ms")
        interval = f"[{result.interval[0]:+.4f}, {result.interval[1]:+.4f}]"
        table.add_row(f"{result.score:.4f}", f"{result.difference:+.4f}", interval, f"{1e3 * result.seconds:.0f}")
        out.print(table)
        if result.reason:
            print_line(f"Refused: {result.reason}")
    return FAILED if isnan(result.score) else 0
