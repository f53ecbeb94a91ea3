"""Run docs/start/day.md in an empty folder, and write what its commands print below them.

    python -m benchmarks.day [--check]

With `--check` nothing is written, and the exit code is 1 where the page says something else than what was printed.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
PAGE, PICTURE = ROOT / "docs/start/day.md", ROOT / "docs/img/day.png"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"[#%] ([\w.-]+\.\w+)\b")
WIDE = "88"
"""Columns of the terminal that the page shows."""
DRAW = (
    "binwright figures results/monday --kind differences --baseline best-fit --metric acceptance --metric net_month "
    "--metric energy --out picture.png"
)
"""The figure of the page once more, for browsers."""


def main() -> int:
    """Answer the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = PAGE.read_text("utf-8")
    with TemporaryDirectory() as folder:
        page = played(text, Path(folder))
        if not args.check:
            PAGE.write_text(page, "utf-8")
            printed(DRAW, Path(folder))
            copyfile(Path(folder) / "picture.png", PICTURE)
    if args.check:
        sys.stdout.writelines(unified_diff(text.splitlines(True), page.splitlines(True), "the page", "printed"))
    return int(args.check and text != page)


def played(text: str, folder: Path) -> str:
    """Do what a page says in `folder`, block by block, and return it with the output of its commands."""
    return "".join(_parts(text, folder))


def _parts(text: str, folder: Path) -> Iterator[str]:
    at, output = 0, ""
    for block in BLOCK.finditer(text):
        language, content = block[1], block[2]
        if language == "sh":
            output = printed(content, folder)
        elif language != "text" and (named := NAMED.match(content)):
            (folder / named[1]).write_text(content, "utf-8")
        yield text[at : block.start()]
        yield f"```text\n{output}```" if language == "text" else block[0]
        at = block.end()
    yield text[at:]


def printed(commands: str, folder: Path) -> str:
    """Run commands in a shell, and return what they print, without blank lines at the ends and blanks behind lines."""
    env = {**os.environ, "COLUMNS": WIDE, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail\n{commands}"], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    if done.stderr:
        raise RuntimeError(f"{commands}\n{done.stderr}")
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return "\n".join(lines).strip("\n") + "\n" if any(lines) else ""


if __name__ == "__main__":
    sys.exit(main())
