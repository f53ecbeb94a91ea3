"""Do early checkpoints of Nara transfer better than late ones? python -m benchmarks.nara_early FOLDER [FOLDER ...].

Every FOLDER is one that `binwright train nara/train-alpha` wrote, or one that holds several such, for one form of the
network. A row for each validation: acceptance on alpha and, with the same weights, on gamma; means over the trainings
± half of the 95 % interval where there are several.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from benchmarks.cells import cell

WORLDS = {"alpha": "acceptance", "gamma": "gamma_acceptance"}


def judged(folder: Path) -> pl.DataFrame:
    """Read the validations of all trainings below a folder, with a column `training` that tells them apart."""
    files = sorted(folder.rglob("seed-*/log.parquet"))
    logs = [pl.read_parquet(file).with_columns(training=pl.lit(str(file))) for file in files]
    return pl.concat(logs, how="diagonal_relaxed").filter(pl.col("split") == "validation")


def main() -> None:
    """Print a row for every iteration that was validated."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    asked = parser.parse_args()
    logs = {folder.name: judged(folder) for folder in asked.folders}
    names = [f"{name}, {world}" for name in logs for world in WORLDS]
    trainings = ", ".join(f"{log['training'].n_unique()} of {name}" for name, log in logs.items())
    print(f"| iteration ({trainings}) | {' | '.join(names)} |\n|{' --- |' * (len(names) + 1)}")
    for step in sorted({step for log in logs.values() for step in log["step"]}):
        there = [log.filter(pl.col("step") == step) for log in logs.values()]
        cells = [cell(rows[column].to_numpy(), 3) if len(rows) else "" for rows in there for column in WORLDS.values()]
        print(f"| {step} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
