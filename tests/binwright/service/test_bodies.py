"""Bodies of requests: what is wrong many times is one mistake, and the event loop does not wait for them."""

import asyncio
import json
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest
from pydantic import ValidationError

from binwright.service.app import application
from binwright.service.limits import Limits
from binwright.service.models import Submission

MANY = range(150_000)


@pytest.mark.parametrize(
    "body",
    [
        {f"key{number}": 1 for number in MANY},
        *({"text": "x", key: {f"{number}": [[]] for number in MANY}} for key in ("tables", "params", "now")),
        {"text": "x", "now": dict.fromkeys(map(str, MANY), -2)},
        *({"text": "x", key: [[]] * 150_000} for key in ("now", "drain")),
    ],
    ids=["keys", "tables", "params", "now", "numbers", "now-list", "drain"],
)
def test_what_is_wrong_many_times_is_few_mistakes(body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        Submission.model_validate_json(json.dumps(body))
    assert refused.value.error_count() < 10


def test_a_submission_is_read_and_named_beside_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: dict[str, int] = {}
    read = Submission.model_validate_json

    def validate(body: bytes) -> Submission:
        threads["read"] = get_ident()
        return read(body)

    def key(_: Submission) -> str:
        threads["named"] = get_ident()
        return "key"

    monkeypatch.setattr(Submission, "model_validate_json", validate)
    monkeypatch.setattr(Submission, "key", property(key))
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b'{"text": "x"}'}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/problems", "headers": [], "query_string": b""}
    asyncio.run(application(tmp_path, Limits(), 1, frozenset(), frozenset())(scope, receive, send))
    assert sent[0]["status"] == 202
    assert threads.keys() == {"read", "named"}
    assert get_ident() not in threads.values()
