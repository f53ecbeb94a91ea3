"""Reads and writes the weights of agents and the checkpoints of trainings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.simcore.errors import ExtraNeeded, UserError, suggest
from binwright.simcore.extras import install
from binwright.simcore.files import replacing

Tensors: TypeAlias = dict[str, npt.NDArray[Any]]
SHIPPED = Path(__file__).parent / "weights"
TRAIN = "train some: `binwright train`."


def extra(module: str) -> Any:
    """Import what only the extra `learned` installs."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "safetensors", "gymnasium"):
            raise
        problem = f"learned agents need {error.name}, which is not installed"
        raise ExtraNeeded(problem, remedy=install("learned")) from None


def write(file: Path, tensors: Mapping[str, npt.NDArray[Any]], notes: Mapping[str, Any]) -> None:
    """Write `file` (.safetensors, notes included) and the notes again beside it (.json), each whole or not at all."""
    text = json.dumps(notes, indent=1)
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    content = extra("safetensors.numpy").save(arrays, {"notes": text})
    for path, data in ((file, content), (file.with_suffix(".json"), text.encode() + b"\n")):
        with replacing(path) as unfinished:
            unfinished.write_bytes(data)


def read(file: Path, *, state: bool = False) -> tuple[Tensors, dict[str, Any]]:
    """Read weights that `write` wrote, or with `state` what a training goes on from, which is no weights."""
    safe_open = extra("safetensors").safe_open
    problem = "there is no such file"
    if file.is_file():
        try:
            with safe_open(file, framework="numpy") as opened:
                tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118  # no mapping
                notes = json.loads((opened.metadata() or {})["notes"])
                if state or "trainer" not in notes:
                    return tensors, notes
                problem = "is what a training goes on from, and no weights; these are in best.safetensors beside it"
        except Exception as error:  # safetensors has an error class of its own for every kind of damage
            problem = f"has no weights: {error}"
    raise UserError(problem, file=file, remedy="Give a .safetensors file that `binwright train` wrote.")


def find(agent: str, weights: str, path: str | None, controls: Iterable[str] = ()) -> Path:
    """Find the file of an agent's weights: `path` if there is one, or else the shipped ones of that name.

    The agent knows `controls` by name, too, and asks here for what is none of them.
    """
    if path is not None:
        return Path(path)
    known = {file.stem.removeprefix(f"{agent}-"): file for file in SHIPPED.glob(f"{agent}-*.safetensors")}
    if weights not in known:
        remedy = suggest(weights, [*known, *controls])
        raise UserError("no weights of that name", key="weights", value=weights, remedy=remedy)
    return known[weights]


def fitting(file: Path, shapes: Mapping[str, tuple[int, ...]], wanted: Mapping[str, Any]) -> Tensors:
    """Read weights of these `shapes` from a file; refuses them if their notes differ from what is `wanted`.

    Of several differences the first one in the order of `wanted` is told, with shipped weights that have none.
    """
    tensors, notes = read(file)
    for key, now in wanted.items():
        if (was := notes.get(key)) != now:
            prefix = f"{wanted['agent']}-"
            fit = [
                other.stem.removeprefix(prefix)
                for other in sorted(SHIPPED.glob(f"{prefix}*.json"))
                if wanted.items() <= json.loads(other.read_text()).items()
            ]
            first = f"Shipped weights that fit: {', '.join(fit)}. Or" if fit else "Take others, or"
            raise UserError(_difference(key, was, now), file=file, remedy=f"{first} {TRAIN}")
    weights = {name: tensors[name] for name in shapes if name in tensors}
    if {name: array.shape for name, array in weights.items()} != shapes:
        raise UserError("not the weights of this network", file=file, remedy=TRAIN.capitalize())
    return weights


def _difference(key: str, was: object, now: object) -> str:
    """Describe how weights differ from what they are to be used for."""
    if key == "agent":
        return f"these are weights of {was}, not of {now}"
    if isinstance(was, bool):
        ways = ("with", "without") if was else ("without", "with")
        return f"these weights were trained {ways[0]} {key}, and this agent is to be {ways[1]}"
    texts = [", ".join(map(str, each)) if isinstance(each, list | tuple) else str(each) for each in (was, now)]
    return f"these weights were trained with {key} {texts[0]}, not with {texts[1]}"
