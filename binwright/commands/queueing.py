"""`jobs`: what one has at a service."""

from __future__ import annotations

import json
from argparse import Namespace
from datetime import datetime
from itertools import islice
from typing import Any

from binwright.commands.console import show
from binwright.commands.serving import client_of
from binwright.commands.solver_output import print_answer
from binwright.simcore.errors import UserError

FAILED = 1
"""Exit code: the job has no answer."""


def jobs(asked: Namespace) -> int:
    """`binwright jobs`: list them, or show or cancel one."""
    client = client_of(asked)
    if asked.job is not None:
        return _one(client.cancel(asked.job) if asked.cancel else client.look(asked.job), asked.json)
    if asked.cancel:
        raise UserError("which job?", key="--cancel", remedy="Name it: binwright jobs JOB --cancel.")
    if asked.last < 1:
        raise UserError("must be 1 or more", key="--last", value=asked.last, remedy="Give how many are listed.")
    states = asked.states.split(",") if asked.states else []
    found = list(islice(client.jobs(*states), asked.last))
    if asked.json:
        print(json.dumps(found))
        return 0
    heads = ("job", "state", "priority", "place", "submitted", "title")
    rows = [
        (job["id"], _state(job), str(job["priority"]), str(job["place"] or ""), _moment(job["submitted"]), job["title"])
        for job in found
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows) if rows else ():
        line = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        show(line)
    if not rows:
        show("no jobs")
    return 0


def _one(job: dict[str, Any], as_json: bool) -> int:
    """Show a job, with its answer if it has one."""
    if as_json:
        print(json.dumps(job))
    else:
        place = "" if job["place"] is None else f", place {job['place']} in the queue"
        said = f"{job['state']}{place}: {job['title']}"
        show(said)
        if job["error"]:
            show(f"{job['error']['message']}. {job['error']['remedy']}")
        if job["result"]:
            print_answer(job["result"])
    return FAILED if job["state"] in ("refused", "failed") else 0


def _state(job: dict[str, Any]) -> str:
    return f"{job['state']}: {job['status']}" if job["status"] else str(job["state"])


def _moment(text: str) -> str:
    """Say it in this machine's time; the day only if it is another one."""
    moment = datetime.fromisoformat(text).astimezone()
    today = moment.date() == datetime.now().astimezone().date()
    return moment.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S")
