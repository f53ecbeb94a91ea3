"""The questions of docs/start/how-do-i.md have files that run as they stand, and print what the page says."""

import json
import os
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from benchmarks.day import played
from tests.support import ROOT

PAGE = ROOT / "docs/start/how-do-i.md"


def pod(name: str, space: str, cpu: str, priority: int, node: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {"priority": priority, "containers": [{"resources": {"requests": {"cpu": cpu}}}]}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": space},
        "spec": {**spec, **({"nodeName": node} if node else {})},
        "status": {"phase": "Running" if node else "Pending"},
    }


@pytest.mark.long
def test_commands_print_the_answers_of_the_page(tmp_path: Path) -> None:
    log = Path(os.environ.get("BINWRIGHT_TRACES") or ROOT.parent / "shared/traces") / "lublin-256.swf"
    if not log.is_file():
        pytest.skip(f"{log} is not there: name its folder in $BINWRIGHT_TRACES")
    with log.open() as lines, (tmp_path / "log.swf").open("w") as short:
        short.writelines(islice((line for line in lines if not line.startswith(";")), 300))
    allocatable = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
    items = [
        {"kind": "Node", "metadata": {"name": "n1"}, "status": allocatable},
        pod("batch-1", "jobs", "2", 10, "n1"),
        pod("batch-2", "jobs", "1500m", 10, "n1"),
        pod("web", "shop", "2", 1000),
    ]
    (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "items": items}))
    text = PAGE.read_text("utf-8")
    assert played(text, tmp_path) == text
