"""What is not installed is named with the command that installs it from where this Binwright came from."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from binwright.agents.solver.backends import opencl
from binwright.cli import MISTAKE, main
from binwright.simcore import extras
from binwright.simcore.errors import ExtraNeeded
from binwright.simcore.extras import need
from tests.support import ROOT


def test_an_installed_extra_is_no_mistake() -> None:
    need("numpy", "solver", what="this")
    with pytest.raises(ExtraNeeded, match=r"this needs no_such_thing, which is not installed\n  Run pip install"):
        need("no_such_thing", "x", what="this")


class Missing:
    """Finds none of some packages."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize(
    ("arguments", "package", "extra"),
    [
        ("reproduce nara --quick --dry-run", "safetensors", "learned"),
        ("agents check nara", "safetensors", "learned"),
        ("run quickstart --on ray", "ray", "ray"),
        ("solve cdn --device opencl", "pyopencl", "solver"),
        ("serve --port 0", "fastapi", "serve,solver"),
    ],
)
def test_a_command_says_at_once_what_it_needs(
    arguments: str,
    package: str,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if arguments.startswith("solve"):
        pytest.importorskip("lark")
    opencl.installed.cache_clear()  # what an earlier test in this process has listed
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    missing: Any = Missing(package)
    monkeypatch.setattr(sys, "meta_path", [missing, *sys.meta_path])
    real = importlib.util.find_spec
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == package else real(name))
    code = main(arguments.split())
    output = "".join(capsys.readouterr())
    assert code == (0 if arguments.startswith("reproduce") else MISTAKE)
    assert f"needs {package}, which is not installed" in output or f"need {package}, which is not installed" in output
    assert f"pip install -c constraints.txt -e '.[{extra}]' in {ROOT}." in output
    assert not list(tmp_path.iterdir())
