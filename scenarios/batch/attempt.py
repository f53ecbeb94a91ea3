"""One run, whatever happens to it: its row in the journal."""

import json
import traceback
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from binwright.scenarios.batch.journal import Row
from binwright.scenarios.build.plan import Run
from binwright.scenarios.run.execute import execute
from binwright.scenarios.run.progress import OnProgress, RunProgress
from binwright.scenarios.run.sandbox import TooLong, aloud, printing, recursion
from binwright.simcore.compiling import awaited_by
from binwright.simcore.errors import RunError, UserError, place_of
from binwright.simcore.file_tracking import digest_of
from binwright.simcore.memmap import in_files
from binwright.simcore.units import TIME


class Task(NamedTuple):
    """A run to do, for the batch of this number among those that go on together; details go below `folder`.

    `version` is that of Binwright, and `code` a digest of its code: who does the run must have the same.
    """

    batch: int
    run: Run
    folder: Path
    version: str
    code: str


def attempt(task: Task, on_progress: OnProgress = lambda progress: None) -> Row:
    """Do it, and tell how far it is; what goes wrong is in the row's `error`.

    Writes the details that its scenario wants recorded.

    The row's `details` are the files that were written, each with a digest of what was in it.
    """
    began = perf_counter()

    def said(progress: RunProgress) -> None:
        with aloud():
            on_progress(progress._replace(batch=task.batch))

    try:
        printed = printing(task.folder / "details" / f"{task.run.name}.printed.txt")
        with recursion(), printed, awaited_by(task.run.agent.label), in_files(task.folder):
            metrics, status, error = execute(task.run, task.folder, said), "done", ""
        kinds = sorted(set(task.run.scenario.record))
        metrics["details"] = {kind: digest_of(detail(task.folder, task.run, kind)) for kind in kinds}
    except (RunError, UserError) as failure:
        metrics, status, error = {}, "failed", str(failure)
    except SystemExit as end:
        metrics, status, error = {}, "failed", f"sys.exit({end.code!r}) was called at {_place(end)}"
    except TooLong as end:
        limit = TIME.show(task.run.scenario.decision_limit)
        metrics, status = {}, "failed"
        error = f"the agent thought for longer than {limit}, its decision_limit; it was interrupted at {_place(end)}"
    except GeneratorExit as end:
        metrics, status, error = {}, "failed", f"GeneratorExit was raised at {_place(end)}"
    except KeyboardInterrupt:
        raise
    except BaseException:  # CancelledError and panics of Rust are not Exception
        metrics, status, error = {}, "failed", traceback.format_exc()
    return _row(task, status, error, perf_counter() - began) | metrics


def _place(error: BaseException) -> str:
    """Name the line of the agent's code that an exception comes from."""
    return place_of(error, lambda frame: frame.name != "look")


def detail(folder: Path, run: Run, kind: str) -> Path:
    """Name the file of a run's details of this kind."""
    return folder / "details" / f"{run.name}.{kind}.parquet"


def failed(task: Task, error: str) -> Row:
    """Make the row of a run whose process died."""
    return _row(task, "failed", error, 0.0)


def _row(task: Task, status: str, error: str, seconds: float) -> Row:
    run = task.run
    who: Row = {"run": run.name, "agent": run.agent.label, "seed": run.seed, **shown(run), "version": task.version}
    kept = {"family": run.family, "asked": run.asked, "spec": run.agent.dump(), "details": {}}
    return who | {"status": status, "error": error, "seconds": seconds} | kept


def shown(run: Run) -> Row:
    """Show a run's point as tables have it: values that are neither numbers nor text become JSON."""
    return {
        key: value if isinstance(value, int | float | str) else json.dumps(value) for key, value in run.point.items()
    }
