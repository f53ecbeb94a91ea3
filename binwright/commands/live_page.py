"""`watch`: how far a batch is; with `--serve` a page of it while it goes on, which is the report when it is over."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from errno import EADDRINUSE
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from binwright.analysis.compare.table import Table
from binwright.analysis.report.page import compose, failed_runs, page, section
from binwright.analysis.report.tables import HtmlCell, html, main_table
from binwright.analysis.results_api import Results
from binwright.cli import FAILED
from binwright.commands.console import many_of, say, show
from binwright.commands.progress import Live, duration, pace
from binwright.commands.reporting import played
from binwright.scenarios.batch.watching import BatchProgress, WatchedFolder
from binwright.simcore.errors import UserError

if TYPE_CHECKING:
    from binwright.scenarios.batch.watching import BatchProgress


HOSTS = ("127.0.0.1", "localhost")
"""Names of this machine: a page of somebody else's that has another name for it gets nothing."""
SHARE = 10
"""The batch needs the processor: after a look that took a second comes the next one ten seconds later."""
RECENT = 60.0
"""Seconds that the rate is counted over."""
PORT = 8001
ALIVE = 15.0
"""Seconds of silence after which a browser is written to, to find out whether it is still there."""
WAITING, GOING, OVER = "waiting", "going", "over"
Sections = dict[str, tuple[str, str]]


class PageState(NamedTuple):
    """What there is to show: the batch's name, whether it goes on, and sections of the page."""

    name: str
    state: str
    sections: Sections


class LivePage:
    """The page of a folder that a batch writes its results to, or will; threads may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = Lock()
        self._watched: WatchedFolder | None = None
        self._due = 0.0
        self._now: PageState
        self._table: tuple[object, Sections] = None, {}
        self._counts: deque[tuple[float, int]] = deque()
        self._report: tuple[object, str] = None, ""
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            self._watched = WatchedFolder(folder)
        self.look()

    def look(self) -> PageState:
        """Say what there is now, or was a moment ago."""
        with self._lock:
            if (began := monotonic()) >= self._due:
                self._now = self._looked()
                self._due = monotonic() + max(EVERY, SHARE * (monotonic() - began))
            return self._now

    def whole(self) -> str:
        """Write the page: the report, once the batch is over."""
        now = self.look()
        if now.state != OVER:
            return page(now.name, now.sections, state=now.state)
        with self._lock:
            file = (self.folder / "runs.parquet").stat()
            if self._report[0] != file.st_mtime_ns:
                again = played(self.folder)
                self._report = file.st_mtime_ns, compose(Results(self.folder), say, again, OVER)
            return self._report[1]

    def _looked(self) -> PageState:
        try:
            if self._watched is None:
                if not (self.folder / "scenario.yaml").is_file():
                    text = "Nothing was run here yet. The page waits for a <code>binwright run</code> that writes to "
                    text += f"<code>{escape(str(self.folder))}</code>."
                    return PageState(self.folder.name, WAITING, {"progress": ("Progress", f"<p>{text}</p>")})
                self._watched = WatchedFolder(self.folder)
            return self._found(self._watched, self._watched.look())
        except (UserError, OSError) as error:  # it is moved, or written anew by another version
            self._watched = None
            return PageState(
                self.folder.name, GOING, {"progress": ("Progress", f'<p class="wrong">{escape(str(error))}</p>')}
            )

    def _found(self, watched: WatchedFolder, found: BatchProgress) -> PageState:
        over = len(found.rows) == found.total and not found.running
        if over:
            return PageState(found.name, OVER, {})
        sections: Sections = {"progress": ("Progress", self._progress(found)), **self._so_far(watched, found)}
        return PageState(found.name, GOING, sections)

    def _progress(self, found: BatchProgress) -> str:
        now, count = monotonic(), len(found.rows)
        self._counts.append((now, count))
        while len(self._counts) > 2 and self._counts[1][0] < now - RECENT:
            self._counts.popleft()
        began, before = self._counts[0]
        rate = f" {', '.join(pace((count - before) / (now - began), found.total - count))}." if count > before else ""
        bar = f'<progress aria-label="runs done" max="{found.total}" value="{count}"></progress>'
        rows = [
            [HtmlCell(row["agent"]), HtmlCell(str(row["seed"])), HtmlCell(f"{row['requests'] / max(1, row['of']):.1%}"),
             HtmlCell(f"{(row['requests'] - row.get('begun', 0)) / max(1e-3, row['seconds']):,.3g}")]
            for row in found.under_way.values()
        ]  # fmt: skip
        heads = [("agent", ""), ("seed", ""), ("done", "of its requests"), ("requests/s", "decided")]
        caption = "Runs under way, as of when they were last kept"
        table = html("under-way", caption, heads, 1, rows, sortable=False) if rows else ""
        return f"{bar}\n<p>{escape(said(found))}{rate}</p>\n{table}"

    def _so_far(self, watched: WatchedFolder, found: BatchProgress) -> Sections:
        """Return the table of the runs that are done, and those that failed."""
        known = [(name, row["status"]) for name, row in found.rows.items()]
        if known and known != self._table[0]:
            with TemporaryDirectory(prefix="binwright-watch.") as scratch:
                results = watched.results(found, Path(scratch))
                self._table = known, {"table": ("Table so far", _table(results, found))}
                if found.failed:
                    self._table[1]["failed"] = ("Failed runs", failed_runs(results))
        return self._table[1]


def _table(results: Results, found: BatchProgress) -> str:
    if not found.done:
        return "<p>No run is done yet.</p>"
    table = Table(results)
    notes = [f'<p class="soft">{escape(text)}</p>' for text in (table.same, table.legend) if text]
    not_final = f"Not final: {found.done:,} of {found.total:,} runs. Means and marks will change."
    return "\n".join([f'<p class="wrong">{not_final}</p>', main_table(table, sortable=False), *notes])


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, live: LivePage) -> None:
        self.live = live
        super().__init__((HOSTS[0], port), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """Give the page, or what changes in it."""
        path, _, query = self.path.partition("?")
        if self.headers.get("Host", "").partition(":")[0] not in HOSTS:
            self.send_error(403, "This page is for browsers on its own machine")
        elif path not in ("/", "/events"):
            self.send_error(404)
        else:
            with suppress(ConnectionError):  # the browser went away
                parts = self._changes(unquote(query)) if path == "/events" else self._whole()
                for part in parts:
                    self.wfile.write(part.encode())

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing of requests."""

    def _begin(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()

    def _whole(self) -> Iterator[str]:
        try:
            status, text = 200, self.server.live.whole()
        except (UserError, OSError) as error:
            failed = {"progress": ("Report", f'<p class="wrong">{escape(str(error))}</p>')}
            status, text = 500, page(self.server.live.folder.name, failed, state=OVER)
        self._begin(status, "text/html")
        yield text

    def _changes(self, state: str) -> Iterator[str]:
        """Yield events: sections that change, and that a page of another state is due."""
        self._begin(200, "text/event-stream")
        shown: Sections = {}
        spoke = monotonic()
        while (now := self.server.live.look()).state == state:
            new = {key: section(key, *parts) for key, parts in now.sections.items() if shown.get(key) != parts}
            shown = now.sections
            if new or monotonic() - spoke > ALIVE:
                spoke = monotonic()
                yield f"data: {json.dumps(new)}\n\n" if new else ": still here\n\n"
            sleep(EVERY)
        yield "event: reload\ndata:\n\n"


def serve(asked: Namespace) -> int:
    """`binwright watch RESULTS --serve`, until Ctrl-C."""
    folder, port = Path(asked.results), PORT if asked.port is None else asked.port
    live = LivePage(folder)
    try:
        server = _Server(port, live)
    except (OSError, OverflowError) as error:
        taken = isinstance(error, OSError) and error.errno == EADDRINUSE
        problem = "is taken by another program" if taken else f"cannot be listened on: {error}"
        remedy = "Give another one, or --port 0 for any that is free."
        raise UserError(problem, key="--port", value=port, remedy=remedy) from None
    with server, suppress(KeyboardInterrupt):  # so, or by SIGTERM, it ends as it should
        waits = " Nothing was run there yet: the page waits." if live.look().state == WAITING else ""
        show(f"Open http://{HOSTS[0]}:{server.server_port}/ to watch {folder}; Ctrl-C ends it.{waits}")
        server.serve_forever()
    return 0


EVERY = 1.0
"""Seconds between two looks."""


def watch(asked: Namespace) -> int:
    """`binwright watch RESULTS`: a line that lives until the batch is over, then what came of it."""
    from binwright.scenarios.batch.watching import WatchedFolder

    if asked.port is not None:
        raise UserError("is of the page that --serve opens", key="--port", value=asked.port, remedy="Add --serve.")
    watched = WatchedFolder(asked.results)
    found = watched.look()
    if not asked.once and found.running:
        with Live(found.total, len(found.rows), 0) as live:
            for row in found.rows.values():
                live(row)
            while found.running:
                sleep(EVERY)
                before, found = found.rows, watched.look()
                for name, row in found.rows.items():
                    if before.get(name) != row:
                        live(row)
    show(said(found))
    return FAILED if not found.running and found.done < found.total else 0


def said(found: BatchProgress) -> str:
    """Say how far a batch is, and whether somebody goes on with it."""
    failed = f", {found.failed} failed" if found.failed else ""
    text = f"{found.name}: {found.done} of {many_of(found.total, 'run')} done{failed}. "
    if found.under_way:
        shares = (row["requests"] / max(1, row["of"]) for row in found.under_way.values())
        kept = "Under way, as of when they were kept" if found.running else "Kept of runs that were under way"
        text += f"{kept}: {', '.join(f'{share:.1%}' for share in shares)}. "
    if found.running:
        text += "It goes on"
        text += f"; what is left is {duration(found.seconds)} of work for one process." if found.seconds else "."
    elif found.done < found.total:
        text += "It stands still: the same command goes on with it."
    else:
        text += "It is over."
    if found.others and not found.rows:
        others = many_of(found.others, "run")
        text += f" Its journal has {others} of another version of the scenario, an agent or Binwright."
    return text
