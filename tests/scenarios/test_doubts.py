"""What `traces describe` and `fit` say of traces that are no steady stream, and what `fit` makes of windows."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from binwright.cli import main
from binwright.scenarios.draft.request_source import asked_of, complete_from, steady_from
from binwright.simcore.types import Floats
from binwright.workloads.describe import fit

DAY = 86400.0


def stream(seed: int, days: float, rows: int, median: float = 0.5) -> tuple[Floats, Floats]:
    """Draw arrivals that are steady, and lifetimes around a median, both in seconds."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.uniform(0, days * DAY, rows)), DAY * median * np.exp(rng.normal(0, 1.5, rows))


def survivors(arrival: Floats, lifetime: Floats, since: float) -> tuple[Floats, Floats]:
    """Keep what still ran then, and what came later."""
    kept = arrival + lifetime > since
    return arrival[kept], lifetime[kept]


def export(file: Path, arrival: Floats, lifetime: Floats, end: float) -> Path:
    """Write an export that ends then, with dates; what still runs has no end."""
    base = np.datetime64("2025-03-01T00:00:00", "s")
    created = base + arrival.astype("timedelta64[s]")
    deleted = np.where(arrival + lifetime < end, (created + lifetime.astype("timedelta64[s]")).astype(str), "")
    frame = {"vm": np.arange(len(arrival)), "Created At": created.astype(str), "Deleted At": deleted}
    pl.DataFrame({**frame, "vCPU": np.arange(len(arrival)) % 3 + 1}).write_csv(file)
    return file


@given(st.integers(0, 10**6), st.integers(60, 3000), st.floats(0.01, 30))
def test_a_steady_stream_raises_no_doubt(seed: int, rows: int, median: float) -> None:
    arrival, lifetime = stream(seed, 92, rows, median)
    lifetime[arrival + lifetime > 92 * DAY] = np.inf
    assert complete_from(arrival, lifetime) is None
    assert steady_from(arrival) is None


@pytest.mark.parametrize("seed", range(5))
def test_survivors_only_are_noticed(seed: int) -> None:
    arrival, lifetime = survivors(*stream(seed, 492, 20000, median=4), since=400 * DAY)
    found = complete_from(arrival, lifetime)
    assert found is not None
    assert 380 <= found / DAY <= 401
    begin = steady_from(arrival)
    assert begin is not None
    assert begin / DAY > 300


def test_describe_and_fit_say_so_and_offer_the_window(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrival, lifetime = survivors(*stream(1, 492, 20000, median=4), since=400 * DAY)
    file = export(tmp_path / "vms.csv", arrival, lifetime, 492 * DAY)
    assert main(["traces", "describe", str(file)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "nearly nothing ended before it, though later requests do" in said
    assert "Arrivals are not steady: one every " in said
    assert "`start: 2026-0" in said
    assert main(["traces", "describe", "--fit", str(file)]) == 0
    every = capsys.readouterr()
    assert "? Arrivals are not steady: one every " in every.err
    assert main(["traces", "describe", "--fit", str(file), "--start", "2026-04-06"]) == 0
    late = capsys.readouterr()
    assert "not steady" not in late.err
    assert "requests run already at the start. They are not drawn." in late.out

    def gap(text: str) -> float:
        return float(yaml.safe_load(text)["workload"]["arrivals"]["poisson"]["every"].split()[0])

    assert gap(late.out) == pytest.approx(492 * DAY / 20000, rel=0.1)
    assert gap(every.out) > 3 * gap(late.out)


def test_changes_make_no_lifetime_longer_than_the_trace(tmp_path: Path) -> None:
    """Copies come when others come, which says nothing of how long they were seen."""
    arrival, lifetime = stream(3, 92, 3000)
    lifetime[::4] = 1000 * DAY  # runs on: seen for 92 days at most
    export(tmp_path / "vms.csv", arrival, lifetime, 92 * DAY)
    file = tmp_path / "vms.yaml"
    file.write_text(
        "cluster: {servers: 9, node: {cpu: 8}}\nagents: [first-fit]\nworkload:\n  trace: table\n  path: vms.csv\n"
        "  columns: {id: vm, arrival: Created At, end: Deleted At, cpu: vCPU}\n  empty: {end: never}\n"
        "  changes: [{demand: +15 %}]\n"
    )
    spec = asked_of(str(file))
    made = fit(spec.frame, age=spec.age, watched=spec.watched)
    longest = max(flavour.lifetimes.quantiles[-2] for flavour in made.flavours)  # type: ignore[union-attr]
    assert longest <= 92.1 * DAY
    plain = asked_of(str(tmp_path / "vms.csv"))
    for one, other in zip(made.flavours, fit(plain.frame).flavours, strict=True):
        assert one.lifetimes.quantiles[-2] == pytest.approx(other.lifetimes.quantiles[-2], rel=0.1)  # type: ignore[union-attr]


def test_requests_running_at_the_start_tell_long_lifetimes(tmp_path: Path) -> None:
    """Of a window, the estimate of what stays long is that of the whole trace; arrivals are those of the window."""
    arrival, lifetime = stream(5, 400, 12000, median=5)
    file = export(tmp_path / "vms.csv", arrival, lifetime, 400 * DAY)
    whole, late = asked_of(str(file)), asked_of(str(file)).since("2025-12-26")
    assert late.running > 100
    assert len(late.frame) - late.running == pytest.approx(3000, rel=0.1)
    fits = [fit(each.frame, 1, age=each.age, watched=each.watched) for each in (whole, late)]
    middles = [made.flavours[0].lifetimes.quantiles[5:18] for made in fits]  # type: ignore[union-attr]
    assert middles[1] == pytest.approx(middles[0], rel=0.25)
    assert fits[1].requests == len(late.frame) - late.running


# Rows that cannot be read

FAULTY = """vm,Created At,Deleted At,vCPU
a,2026-01-01,2026-01-02,1
b,2026-01-03,2026-01-02,1
c,yesterday,2026-01-04,2
d,2026-01-04,2026-01-06,2
e,2026-01-05,2026-01-07,2
f,2026-01-06,soon,2
g,tomorrow,2026-01-09,2
"""


def test_describe_lists_all_rows_that_cannot_be_read_and_leaves_them_out_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "vms.csv"
    keeps = "".join(f"h{n},2026-01-07,2026-01-09,1\n" for n in range(40))
    file.write_text(FAULTY + keeps)
    assert main(["traces", "describe", str(file)]) == 2
    said = capsys.readouterr().err
    assert "vms.csv:4: Created At: not a date, and so in 1 row more (line 8)" in said
    assert f"In all, 4 rows cannot be read: `binwright traces describe {file} --drop-faulty` leaves them out" in said
    out = tmp_path / "vms.yaml"
    assert main(["traces", "describe", str(file), "--drop-faulty", "--out", str(out)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "43 requests over" in told
    assert "? 4 of the rows cannot be read and are left out: Created At: not a date (got 'yesterday')" in told
    assert "lines 4, 8 (2 rows); Deleted At" in told
    assert "faulty: drop" in out.read_text()
    assert len(asked_of(str(out)).frame) == 43
    assert main(["validate", str(out)]) == 0


def test_fit_and_size_say_how_far_the_drawn_requests_fall_short(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of the requests come at one moment, as no rate of hours does."""
    arrival, _ = stream(5, 7, 600)
    arrival = np.sort(np.where(np.arange(600) % 2, 3 * DAY, arrival))
    file, fitted = export(tmp_path / "vms.csv", arrival, np.full(600, 3600.0), 8 * DAY), tmp_path / "fitted.yaml"
    assert main(["traces", "describe", "--fit", str(file), "--out", str(fitted)]) == 0
    said = capsys.readouterr().err
    assert "cpu, peak: " in said
    assert "cpu, 99th percentile: " in said
    assert "? The fitted requests ask for " in said
    cluster = "--set=cluster={servers: 20, node: {cpu: 8}}"
    assert main(["size", str(fitted), cluster, "--seeds", "2", "--agents", "first-fit", "--out", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "less cpu than the trace at the peak" in said
    assert "Size by the trace, or by its days: `resample: {block: 1 d}`." in said


def test_a_load_that_grows_is_doubted_by_describe_run_and_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What starts empty, and stays for long, needs more servers at its end than all of it says."""
    monkeypatch.chdir(tmp_path)
    arrival, _ = stream(2, 10, 1000)
    export(tmp_path / "vms.csv", arrival, np.full(1000, 8 * DAY), 10 * DAY)

    def said(*command: str) -> str:
        assert main([*command, *(["--agents", "best-fit"] if command[0] != "traces" else [])]) == 0
        return " ".join(capsys.readouterr().out.split())

    assert "? The load grows: " in said("traces", "describe", "vms.csv", "--out", "vms.yaml")
    servers = "cluster={servers: 15, node: {cpu: 100}}"
    ran = said("run", "vms.yaml", "--set", servers, "--out", "ran")
    assert "Warning: the load grows over the run, in 1 of 1 runs: " in ran
    assert "`warm_start: {until: 50 %, with: self}`, or a later `start` of a trace" in ran
    sized = said("size", "vms.yaml", "--set", servers, "--until", "acceptance >= 97 %", "--out", "sized")
    accepted = re.search(r"in the last fifth, in which (\S+)% of the requests were accepted", sized)
    assert accepted is not None
    assert float(accepted[1]) < 95
    servers, last = f"--set={servers}", "--set=metrics=[{acceptance: {last: 20 %}}]"
    assert "the load grows" not in said("run", "vms.yaml", servers, last, "--out", "last")
    assert "the load grows" not in said("run", "vms.yaml", servers, "--set=workload.start=2025-03-09", "--out", "late")


def test_short_and_long_rows_are_faulty_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, rows = tmp_path / "vms.csv", [f"{row},{60 * row},{row % 4 + 1},{60 * row + 600}" for row in range(40)]
    rows[7], rows[9], rows[20] = "7,420", "9,540,2,1140,5", rows[20].rpartition(",")[0]
    file.write_text("\n".join(["id,Created,cpu,Terminated", *rows]))
    assert main(["traces", "describe", str(file)]) == 2
    said = capsys.readouterr().err
    assert "vms.csv:9: not a CSV file: rows differ in their number of cells, and so in 2 rows more (got 2)" in said
    assert "--drop-faulty` leaves them out" in said
    assert main(["traces", "describe", str(file), "--drop-faulty", "--out", str(tmp_path / "vms.yaml")]) == 0
    said = capsys.readouterr().out
    assert "3 of the rows cannot be read and are left out" in said
    assert "lines 9, 11, 22 (3 rows)" in said
    assert "run on for ever" not in said
    assert len(asked_of(str(tmp_path / "vms.yaml")).frame) == 37


def test_fit_leaves_out_a_resource_that_next_to_no_request_asks_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{60 * row},{1 + row % 4},{600 + row if row != 5 else 5},{int(row == 5)}" for row in range(300)]
    (tmp_path / "vms.csv").write_text("\n".join(["start,cpu,duration,gpu", *rows]))
    assert main(["traces", "describe", "--fit", str(tmp_path / "vms.csv")]) == 0
    assert "gpu, 99th percentile" not in capsys.readouterr().err
