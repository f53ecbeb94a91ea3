"""Reads and writes the weights of agents."""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.simcore.errors import ExtraNeeded, UserError, suggest
from binwright.simcore.extras import install
from binwright.simcore.files import replacing
from binwright.simcore.types import View

Tensors: TypeAlias = dict[str, npt.NDArray[Any]]
SHIPPED = Path(__file__).parent / "weights"
REMEDY = "Take others, or train some: `binwright train`."


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


def read(file: Path) -> tuple[Tensors, dict[str, Any]]:
    """Read weights that `write` wrote."""
    safe_open = extra("safetensors").safe_open
    problem = "there is no such file"
    if file.is_file():
        try:
            with safe_open(file, framework="numpy") as opened:
                tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118  # no mapping
                return tensors, json.loads((opened.metadata() or {})["notes"])
        except Exception as error:  # safetensors has an error class of its own for every kind of damage
            problem = f"has no weights: {error}"
    raise UserError(problem, file=file, remedy="Give a .safetensors file that `binwright train` wrote.")


def find(agent: str, weights: str, path: str | None) -> Path:
    """Find the file of an agent's weights: `path` if there is one, or else the shipped ones of that name."""
    if path is not None:
        return Path(path)
    known = {file.stem.removeprefix(f"{agent}-"): file for file in SHIPPED.glob(f"{agent}-*.safetensors")}
    if weights not in known:
        raise UserError("no weights of that name", key="weights", value=weights, remedy=suggest(weights, known))
    return known[weights]


def described(agent: str, view: View, **more: Any) -> dict[str, Any]:
    """Return what the notes beside an agent's weights say they were trained for."""
    return {"agent": agent, "resources": list(view.resources), **more}


def fitting(file: Path, shapes: Mapping[str, tuple[int, ...]], wanted: Mapping[str, Any]) -> Tensors:
    """Read weights of these `shapes` from a file; refuses them if their notes differ from what is `wanted`."""
    tensors, notes = read(file)
    for key, now in wanted.items():
        if (was := notes.get(key)) != now:
            problem = f"these weights were trained with {key} {was}, not with {now}"
            raise UserError(problem, file=file, remedy=REMEDY)
    weights = {name: tensors[name] for name in shapes if name in tensors}
    if {name: array.shape for name, array in weights.items()} != shapes:
        raise UserError("not the weights of this network", file=file, remedy=REMEDY)
    return weights
