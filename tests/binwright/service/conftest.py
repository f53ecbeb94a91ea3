"""One service for all tests of it that do not kill it."""

from collections.abc import Iterator

import pytest

from tests.support.service import Server, serving

LIMITS = ("time=20", "grace=20", "memory=6e8", "body=300000", "queue=250")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("service")
    with serving(
        folder / "data", "--workers", "2", *[part for each in LIMITS for part in ("--limit", each)]
    ) as started:
        started.warm()
        yield started
