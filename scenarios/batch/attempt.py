"""One run, whatever happens to it: its row in the journal."""

import json
import traceback
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from binwright.scenarios.build.plan import Run
from binwright.scenarios.run.execute import execute
from binwright.scenarios.run.progress import OnProgress
from binwright.scenarios.run.sandbox import TooLong
from binwright.simcore.errors import RunError, UserError, place_of
from binwright.simcore.file_tracking import digest_of
from binwright.simcore.memmap import in_files
from binwright.simcore.units import TIME

VERSION = version("binwright")
Row: TypeAlias = dict[str, Any]
"""What the journal of a folder of results says of a run."""


class Task(NamedTuple):
    """A run to do; details go below `folder`."""

    run: Run
    folder: Path


def attempt(task: Task, on_progress: OnProgress = lambda progress: None) -> Row:
    """Do it, write its details, and tell how far it is; what goes wrong is in the row's `error`.

    The row's `details` are the files that were written, each with a digest of what was in it.
    """
    run, began = task.run, perf_counter()

    try:
        with in_files(task.folder):
            metrics = execute(run, task.folder, on_progress)
        details = {kind: digest_of(detail(task.folder, run, kind)) for kind in sorted(set(run.scenario.record))}
        return _row(run, "done", "", perf_counter() - began) | metrics | {"details": details}
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # CancelledError and panics of Rust are not Exception
        return _row(run, "failed", _problem(failure, run), perf_counter() - began)


def _problem(failure: BaseException, run: Run) -> str:
    """Say why a run failed, and for what is neither an error of ours nor of the agent's calls, where."""
    if isinstance(failure, RunError | UserError):
        return str(failure)
    place = place_of(failure, lambda frame: frame.name != "look")
    if isinstance(failure, SystemExit):
        return f"sys.exit({failure.code!r}) was called at {place}"
    if isinstance(failure, TooLong):
        limit = TIME.show(run.scenario.decision_limit)
        return f"the agent thought for longer than {limit}, its decision_limit; it was interrupted at {place}"
    return "".join(traceback.format_exception(failure))


def detail(folder: Path, run: Run, kind: str) -> Path:
    """Name the file of a run's details of this kind."""
    return folder / "details" / f"{run.name}.{kind}.parquet"


def failed(task: Task, error: str) -> Row:
    """Make the row of a run whose process died."""
    return _row(task.run, "failed", error, 0.0)


def _row(run: Run, status: str, error: str, seconds: float) -> Row:
    who: Row = {"run": run.name, "agent": run.agent.label, "seed": run.seed, **shown(run), "version": VERSION}
    return who | {"status": status, "error": error, "seconds": seconds, "details": {}}


def shown(run: Run) -> Row:
    """Show a run's point as tables have it: values that are neither numbers nor text become JSON."""
    return {
        key: value if isinstance(value, int | float | str) else json.dumps(value) for key, value in run.point.items()
    }
