"""What the published weights of Nara do here: python -m benchmarks.nara_published MODELS.

MODELS is the folder `models` of a clone of github.com/zawaki/nara_revision (MIT licence), which has checkpoints of the
program behind arXiv:2106.02412, one for each demand on alpha and on beta. They are read without running anything that
is in them. Each plays the uniform demand, with what is free as of before the request and with what the request itself
has left (`left`), which is how that program counts it; and on gamma with two bounds of the holding times: 620, which
makes the published average load, and 480, which that program's files have.
"""

from __future__ import annotations

import argparse
import io
import pickle
import tempfile
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import binwright as bw
from agents.learned.common.tensors import Tensors, write
from agents.learned.nara.agent import FEATURES
from agents.learned.nara.form import STAGES, TEXT, WIDTH
from benchmarks.cells import cell

CONDITIONS = {
    "alpha": ("alpha", 128, 31),
    "beta": ("beta", 128, 31),
    "gamma": ("gamma", 896, 620),
    "gamma, H 480": ("gamma", 896, 480),
}
"""Topology, requests, and the bound of the holding times."""
NUMPY = {("numpy.core.multiarray", "_reconstruct"), ("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")}


class Ignored:
    """Stands in place of every object of a checkpoint that is no array."""

    def __init__(self, *given: Any, **named: Any) -> None:
        pass

    def __call__(self, *given: Any, **named: Any) -> Ignored:
        return self

    def __setstate__(self, state: Any) -> None:
        pass


class Arrays(pickle.Unpickler):
    """Reads arrays out of a pickle; whatever else it names is `Ignored` and never imported."""

    def find_class(self, module: str, name: str) -> Any:
        """Import what makes arrays only."""
        if (module, name) not in NUMPY:
            return Ignored
        return getattr(import_module(module.replace("numpy.core", "numpy._core")), name)


def tensors_of(checkpoint: Path) -> Tensors:
    """Read the policy of a checkpoint as the tensors of our network in the form of the text.

    Its readout is one linear layer over the state of the cluster (8), the mean embedding of the servers chosen and the
    server's own; the first two shift all logits alike.
    """
    with checkpoint.open("rb") as file:
        worker = Arrays(file).load()["worker"]
    arrays = Arrays(io.BytesIO(worker)).load()["state"]["default_policy"]["_state"]
    arrays = [each for each in arrays if isinstance(each, np.ndarray)]
    first = next(place for place, each in enumerate(arrays) if each.shape == (4, WIDTH))
    found: Tensors = {"logit.weight": arrays[0][-WIDTH:].T, "logit.bias": arrays[1]}
    for stage in range(STAGES):
        weight, bias = arrays[first + 2 * stage], arrays[first + 2 * stage + 1]
        found[f"stages.{stage}.state.weight"], found[f"stages.{stage}.link"] = weight[:-1].T, weight[-1]
        found[f"stages.{stage}.state.bias"] = bias
    return found


def main() -> None:
    """Print a row for every checkpoint and way of counting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("--seeds", type=int, default=100, help="on alpha and beta; a tenth of them on gamma")
    parser.add_argument("--names", default="uniform,uniform_beta", help="of checkpoints, between commas")
    asked = parser.parse_args()
    print(f"| acceptance, then cpu and mem in use | {' | '.join(CONDITIONS)} |\n|{' --- |' * (len(CONDITIONS) + 1)}")
    for name in asked.names.split(","):
        for free in ("before", "left"):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"{name}.safetensors"
                form = {**asdict(TEXT), "free": free}
                notes = {"agent": "nara", "features": list(FEATURES), "form": form, "resources": ["cpu", "mem"]}
                write(path, tensors_of(asked.models / name / name), notes)
                print(f"| {name}, {free} | {' | '.join(cells(path, asked.seeds))} |", flush=True)


def cells(path: Path, seeds: int) -> list[str]:
    """Play every condition with weights; returns means and, of acceptance, half of the 95 % interval."""
    found = []
    for topology, requests, holding in CONDITIONS.values():
        wanted = (
            "sweep=null",
            f"cluster.network.topology={topology}",
            f"workload.requests={requests}",
            f"workload.holding={holding}",
            f"agents=[{{nara: {{path: {path}}}}}]",
            f"replications={max(2, seeds // 10) if topology == 'gamma' else seeds}",
        )
        runs = bw.run("nara/table1", *wanted, out=path.parent / f"{topology}-{holding}").done
        cpu, mem = (float(runs[f"allocation_{what}_decisions"].to_numpy().mean()) for what in ("cpu", "mem"))
        accepted = cell(runs["acceptance"].to_numpy(), 3)
        found.append(f"{accepted}, {cpu:.2f} / {mem:.2f}")
    return found


if __name__ == "__main__":
    main()
