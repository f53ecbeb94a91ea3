"""Kept machine code is stale when a kernel that was compiled into it changed in another file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

INNER = "from simcore.jit import kernel\n@kernel\ndef inner(x):\n    return x + {added}\n"
OUTER = "from inner import inner\nfrom simcore.jit import kernel\n@kernel\ndef outer(x):\n    return 10 * inner(x)\n"
ASK = "from outer import outer; print(outer(1), sum(outer.stats.cache_hits.values()))"


def test_a_change_of_a_called_kernel_is_seen(tmp_path: Path) -> None:
    def ask() -> list[int]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
        environment.pop("NUMBA_CACHE_DIR", None)
        found = subprocess.run(
            [sys.executable, "-c", ASK], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return [int(word) for word in found.stdout.split()]

    (tmp_path / "outer.py").write_text(OUTER, "utf-8")
    (tmp_path / "inner.py").write_text(INNER.format(added=1), "utf-8")
    assert ask() == [20, 0]
    assert ask() == [20, 1], "the second process takes what is kept"
    (tmp_path / "inner.py").write_text(INNER.format(added=2), "utf-8")
    assert ask() == [30, 0]
