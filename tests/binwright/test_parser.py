"""What is made from the parser: completion in shells."""

import shutil
import subprocess
from pathlib import Path

import pytest

from binwright.cli import main


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("compar", {"compare"}),
        ("compare --fa", {"--fail-if"}),
        ("run scen", {"scenario.yaml"}),
        ("run --engine auto scen", {"scenario.yaml"}),
        ("why resu", {"results"}),
        ("agents ch", {"check"}),
        ("completion z", {"zsh"}),
    ],
)
def test_bash_completes(words: str, expected: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scenario.yaml").touch()
    (tmp_path / "results").mkdir()
    assert main(["completion", "bash"]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    asked = f"COMP_WORDS=(binwright {words}); COMP_CWORD={len(words.split())}; _shtab_binwright"
    script = f'source ./script; {asked}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected
