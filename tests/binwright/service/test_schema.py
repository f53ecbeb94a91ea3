"""What the OpenAPI document promises, schemathesis tries: no answer is a 500, or differs from its description."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.service import serving

LIMITS = ("time=1", "queue=5000")
EXCEPT = "positive_data_acceptance,allow_header_conformance"
"""A schema cannot say all of what makes tables right; and one path has GET and DELETE as routes of their own."""


@pytest.mark.long
def test_service_answers_as_its_openapi_document_says(tmp_path: Path) -> None:
    with serving(tmp_path / "data", *[part for each in LIMITS for part in ("--limit", each)]) as server:
        server.warm()
        command = [
            str(Path(sys.executable).with_name("st")), "run", f"{server.url}/v1/openapi.json", "--no-color",
            "--phases", "examples,coverage,fuzzing", "--max-examples", "5", "--seed", "1", "--exclude-checks", EXCEPT,
            "--request-timeout", "20", "--suppress-health-check", "all",
        ]  # fmt: skip
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        assert "Tested: 6" in done.stdout
