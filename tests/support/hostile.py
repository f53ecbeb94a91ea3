"""Inputs that somebody or something has damaged, of every kind, and what reading them must come to."""

import gzip
import io
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import TypeVar

import polars as pl

from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.results_api import Results
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import load_scenario, shipped
from binwright.simcore.errors import UserError
from binwright.workloads.traces.library import read, recognised
from tests.support.batches import numbers, scenario, tree

T = TypeVar("T", str, bytes)
READABLE = 20_000
"""Letters that a message may have."""

SCENARIOS = {name: file.read_text("utf-8") for name, file in shipped().items()}
IN_YAML = (
    *"[]{}%\t\0\x07\ufeff\u2028'\"~/é\U0001f600 #\n",
    *(
        ": ", "- ", "&a ", "*a", "!!python/name:os.system ", "!!set ", "<<: ", "? ", "| ", "9" * 400, "1e400", "-1",
        "0x1F",
    ),
    *(".nan", ".inf", "null", "yes", "2001-01-01", "1:30", "010", "..", "a.py:B", "\n  ", "\n\n", "---\n", "...\n"),
)  # fmt: skip

FRAME = pl.DataFrame(
    {"id": range(30), "arrival": [7.0 * n for n in range(30)], "lifetime": [9.0] * 30, "cpu": [1.0] * 30}
)
TABLE = "id,arrival,lifetime,cpu,mem\n" + "".join(f"{n},{7 * n},{50 + n},{1 + n % 3},2\n" for n in range(30))
HUAWEI = "vmid,cpu,mem,at,lt\n" + "".join(f"{n},{1 + n % 2},2,{60 * n},{600 if n else 'inf'}\n" for n in range(30))
EVENTS = "vmid,cpu,memory,time,type\n" + "".join(f"{n // 2},1,2,{n},{n % 2}\n" for n in range(30))
IN_TRACES = (
    *(b",", b"\n", b"\r\n", b'"', b";", b"\t", b"\0", b"\xff", b"\xef\xbb\xbf", b"-", b"inf", b"nan", b"1e400", b" "),
    *(
        b"9" * 400, b"id", b"arrival", b"x" * 200_000, "é".encode(), b"\x1f\x8b", b"PAR1", b"\x00\x00\x00\x80",
        b"1e-320",
    ),
)  # fmt: skip

IN_RESULTS = (
    *(b"{", b"}", b"[", b"\n", b'"', b", ", b": ", b"null", b"NaN", b"1e999", b"\0", b"\xff", b"done", b"failed"),
    *(b"9" * 5000, b"[" * 3000, b'{"status": "done", "run": ["x"]}\n', b"PAR1", b"\x00\x00\x00\x80"),
)
SMALL = {**scenario().dump()["workload"], "requests": 20}
BATCH = scenario(replications=2, record=["requests", "samples"], workload=SMALL)


def mangled(content: T, odd: Sequence[T], drawn: Random) -> T:
    """Change a file here and there: put in what is odd, drop, repeat and move pieces."""
    for _ in range(drawn.randint(1, 6)):
        at, end = sorted(drawn.randint(0, len(content)) for _ in range(2))
        end = min(end, at + drawn.choice((1, 5, 60)))
        what = drawn.randrange(4)
        if what == 0:
            content = content[:at] + drawn.choice(odd) * drawn.choice((1, 1, 1, 150)) + content[at:]
        elif what == 1:
            content = content[:at] + content[end:]
        elif what == 2:
            content = content[:end] + content[at:end] + content[end:]
        else:
            to = drawn.randint(0, len(content))
            content = content[:to] + content[at:end] + content[to:]
    return content


def answered(take: Callable[[], object]) -> bool:
    """Have an input read: it is taken, or a `UserError` of readable length says why not."""
    try:
        take()
    except UserError as error:
        assert len(str(error)) < READABLE  # noqa: PT017 (it need not be raised)
        return False
    return True


def hostile_scenario(folder: Path, drawn: Random) -> None:
    """Read a damaged scenario."""
    file = folder / "s.yaml"
    text = mangled(SCENARIOS[drawn.choice(sorted(SCENARIOS))], IN_YAML, drawn)
    file.write_text(text, "utf-8", errors="replace")
    answered(lambda: load_scenario(file))


def hostile_trace(folder: Path, drawn: Random) -> None:
    """Read a damaged trace; what is taken has rows in order, and no row twice."""
    packed = io.BytesIO()
    FRAME.write_parquet(packed)
    whole = {
        **{f"{name}.csv": text.encode() for name, text in (("table", TABLE), ("huawei", HUAWEI), ("events", EVENTS))},
        "table.csv.gz": gzip.compress(TABLE.encode(), mtime=0),
        "table.parquet": packed.getvalue(),
    }
    name = drawn.choice(sorted(whole))
    file = folder / name
    file.write_bytes(mangled(whole[name], IN_TRACES, drawn))

    def take() -> None:
        frame = read(recognised(file) or "table", file)
        assert len(frame)
        assert frame["arrival"].is_sorted()
        assert frame["arrival"].is_finite().all()
        assert (frame["lifetime"] >= 0).all()
        assert not frame["id"].is_duplicated().any()

    answered(take)


def hostile_results(folder: Path, drawn: Random) -> None:
    """Damage files of a finished batch: comparing them is answered, and what is run again is as it was."""
    whole, damaged = folder / "whole", folder / "damaged"
    if not whole.exists():
        Batch(BATCH, whole).run()
    shutil.rmtree(damaged, ignore_errors=True)
    shutil.copytree(whole, damaged)
    for file in drawn.sample(sorted(path for path in damaged.rglob("*") if path.is_file()), drawn.randint(1, 3)):
        file.write_bytes(mangled(file.read_bytes(), IN_RESULTS, drawn))
    answered(lambda: Comparison(Results(damaged)))
    assert numbers(Batch(BATCH, damaged).run()).equals(numbers(Results(whole)))
    assert tree(damaged / "details") == tree(whole / "details")


KINDS: dict[str, Callable[[Path, Random], None]] = {
    "scenario": hostile_scenario,
    "trace": hostile_trace,
    "results": hostile_results,
}
"""Damages an input of a kind, as drawn, in a folder, and has it read."""
