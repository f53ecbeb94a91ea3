"""Many runs: what is done already is believed, what fails is recorded and stops no other."""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from io import FileIO, IOBase
from pathlib import Path
from time import monotonic

from binwright.analysis.measure.definition import NO_RESULTS, describe
from binwright.analysis.results.columns import Columns, write_runs
from binwright.analysis.results_api import Results
from binwright.scenarios.batch.attempt import VERSION, Row, Task, detail, shown
from binwright.scenarios.batch.pool import backend
from binwright.scenarios.build.code import ours
from binwright.scenarios.build.plan import plan
from binwright.scenarios.build.requests import forget
from binwright.scenarios.build.trace import content_of
from binwright.scenarios.build.world import build_world, measured
from binwright.scenarios.run.check import draw, start_agents
from binwright.scenarios.run.progress import OnProgress
from binwright.scenarios.schema.load import resolved
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import ResultsError, UserError
from binwright.simcore.extras import pl
from binwright.simcore.file_tracking import digest_of, stamp_of, stamping
from binwright.simcore.files import clear, make_folder, sync, write_text, writing
from binwright.simcore.jit import postponed
from binwright.simcore.memmap import in_files

EVERY = 30.0
"""Seconds after which `runs.parquet` is written again while a batch goes on, for whoever looks at it."""
SYNCED = 1.0
"""Seconds between two waits for the journal to be on disk: a power cut costs what finished since the last one."""
CHECK = ', "check": "'
"""Stands before the digest that ends every line, of all that is before it in the line."""
DIGITS = 16


class Batch:
    """The runs of a scenario, and the folder that their results go to.

    `runs` is the plan. Nothing is written before `run`; what the user must mend is found out before that.

    The folder's table has the plan's runs; its journal has all that ever finished there.
    """

    def __init__(self, scenario: Scenario, folder: str | Path) -> None:
        self.scenario = scenario
        self.folder = Path(folder)
        with stamping() as self._inputs:
            self.runs = plan(scenario, {"binwright": VERSION, "code": ours()}, content_of)
        self._journal = self.folder / "journal.jsonl"

    def check_inputs(self) -> None:
        """Refuse to go on if a file that runs are named by is not what it was: nobody knows what a run met."""
        for file, before in self._inputs.items():
            if stamp_of(Path(file)) != before:
                remedy = "Give the same command again: what finished is kept, but for what the change concerns."
                raise UserError("changed while it was used", file=file, remedy=remedy)

    def journal(self) -> tuple[list[Row], int]:
        """Read all rows of the journal, in order, and count its damaged lines: the runs of these are done again."""
        return rows_of(self._journal)

    def done(self) -> dict[str, Row]:
        """Find the rows of the plan's runs that need not run again.

        They are known, and the details that are wanted hold what they held.
        """
        known = {row["run"]: row for row in self.journal()[0] if row["status"] == "done"}
        kinds = set(self.scenario.record)
        return {
            run.name: known[run.name] | {"agent": run.agent.label, **shown(run)}
            for run in self.runs
            if run.name in known
            and all(known[run.name]["details"].get(kind) == digest_of(detail(self.folder, run, kind)) for kind in kinds)
        }

    def run(
        self,
        *,
        done: Mapping[str, Row] | None = None,
        jobs: int | None = 1,
        on: str = "local",
        finished: Callable[[Row], None] = lambda row: None,
        on_progress: OnProgress = lambda progress: None,
    ) -> Results:
        """Run what is not `done` (default: `Batch.done`), calling `finished` with each row; then write `runs.parquet`.

        `on_progress` is called now and then with how far a run is.

        Interrupted at any moment, what is finished stays, and the same call goes on from there. `jobs` and `on` say
        where runs are done, see `scenarios.batch.pool.backend`. When a file changes that runs are named by, a trace or
        an agent's code, what was done since is not believed.
        """
        done = self.done() if done is None else done
        tasks = [Task(run, self.folder.absolute()) for run in self.runs if run.name not in done]
        forget()
        with backend(on if tasks else "local", jobs) as do:
            self.check(done)
            with self.recording(done.values()) as record, closing(do(tasks, on_progress)) as rows:
                for row in done.values():
                    finished(row)
                for row in rows:
                    self.check_inputs()
                    record(row)
                    finished(row)
        return Results(self.folder)

    def check(self, done: Collection[str]) -> None:
        """Find out what the user must mend before anything is written, about who answers in runs not `done`, too."""
        first = self.runs[0]
        measured(first.scenario, first.seed)
        world = build_world(first.scenario)
        agents = {run.agent.label: run.agent for run in self.runs if run.name not in done and run.point == first.point}
        with in_files(self.folder):  # runs in this process take the requests that are drawn here
            workload = draw(self.scenario, first, world)
            # Twice, so that what they need is then compiled once, and not by all workers side by side.
            for compiling in (postponed(), nullcontext()):
                with compiling:
                    start_agents(self.scenario, first, agents.values(), world, workload)

    @contextmanager
    def recording(self, done: Iterable[Row]) -> Iterator[Callable[[Row], None]]:
        """Take the folder, and give what records a finished run there; `runs.parquet` has those `done` as well."""
        rows, taken = list(done), self.folder / "scenario.yaml"
        if taken.exists() and not self._journal.exists():
            problem = "there is a scenario here, and no results: it would be overwritten"
            raise ResultsError(problem, file=taken, remedy="Name another folder with --out.")
        with writing(self.folder):
            make_folder(self.folder)
            journal = self._journal.open("ab", buffering=0)
        with journal:
            lock(journal, self.folder)
            with writing(self.folder):
                clear(self.folder)
                clear(self.folder / "details")
                sync(self.folder)  # a scenario without its journal would be taken for somebody's own
                write_text(taken, resolved(self.scenario, self.folder))
                if journal.tell() and not self._journal.read_bytes().endswith(b"\n"):
                    _append(journal, b"\n")  # a crash cut the last line short: it must not spoil the next one
            written = synced = monotonic()

            def record(row: Row) -> None:
                nonlocal written, synced
                _append(journal, line_of(row).encode())
                rows.append(row)
                if monotonic() - synced > SYNCED:
                    _sync(journal)
                    synced = monotonic()
                if monotonic() - written > EVERY:
                    self.write_runs(rows, self.folder)
                    written = monotonic()

            try:
                yield record
            finally:
                _sync(journal)
                if rows:
                    self.write_runs(rows, self.folder)

    def write_runs(self, rows: list[Row], folder: Path) -> None:
        """Write the table of these rows into a folder."""
        order = {run.name: number for number, run in enumerate(self.runs)}
        rows = sorted(rows, key=lambda row: order.get(row["run"], len(order)))
        # The keys of a failed run come first, and those of a finished one complete them.
        names = dict.fromkeys(key for row in rows for key in row if key not in NO_RESULTS)
        frame = pl.DataFrame({name: pl.Series(name, [row.get(name) for row in rows], strict=False) for name in names})
        write_runs(folder, frame, self._columns(rows))

    def _columns(self, rows: Sequence[Row]) -> Columns:
        """Say what the columns of these rows are."""
        resources, tiers = (
            tuple(dict.fromkeys(name for row in rows for name in row.get(key, ()))) for key in ("resources", "tiers")
        )
        columns = {name for row in rows for name in row}
        described = describe(resources, tiers, self.scenario.metrics, self.scenario.currency)
        metrics = tuple(metric for metric in described if metric.name in columns)
        result = Columns(resources, tuple(self.runs[0].point), metrics, planned=len(self.runs))
        return result.headed(self.scenario.shown_headings)


def _append(journal: FileIO, content: bytes) -> None:
    with writing(journal.name):
        while content:
            content = content[journal.write(content) :]


def _sync(journal: FileIO) -> None:
    with writing(journal.name):
        os.fsync(journal.fileno())


def line_of(row: Row) -> str:
    """Write a row as a line that says whether it is whole."""
    text = json.dumps(row)[:-1]
    return f'{text}{CHECK}{_digest(text.encode())}"}}\n'


def rows_of(file: Path) -> tuple[list[Row], int]:
    """Read the rows of a journal in order, and count the lines that are damaged: those count for nothing."""
    if not file.is_file():
        return [], 0
    lines = [line for line in file.read_bytes().split(b"\n") if line]
    tail = len(CHECK) + DIGITS + len('"}')
    whole = [line[:-tail] for line in lines if line[-tail:] == f'{CHECK}{_digest(line[:-tail])}"}}'.encode()]
    return [json.loads(text + b"}") for text in whole], len(lines) - len(whole)


def _digest(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=DIGITS // 2).hexdigest()


def lock(file: IOBase, folder: Path) -> None:
    """Take `folder` by its open `file`: two commands that write there would spoil each other's results.

    The lock ends when the file is closed, or with the process.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        remedy = "Wait for it, or name another folder with --out."
        raise ResultsError("another run is writing here", file=folder, remedy=remedy) from None
