"""What the documentation shows is true: Python runs, YAML loads, commands parse and name what there is.

Tables say what stands in for placeholders and for what takes long, and what is not run at all, and why.
"""

import ast
import re
import shlex
import shutil
import tomllib
from importlib.util import find_spec
from inspect import signature
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml

import binwright as bw
from binwright import cli
from binwright.agents import AGENTS
from binwright.analysis.figures import FIGURES
from binwright.analysis.measure.definition import describe
from binwright.api import as_overrides
from binwright.parser import parser
from binwright.scenarios.build.plan import points
from binwright.scenarios.schema.load import load_scenario, scenario_from
from binwright.scenarios.size.sizing import Question
from tests.support import ROOT
from tests.support.documentation import Block, blocks, commands, name_of, pages

MINIMAL: dict[str, Any] = {
    "name": "fragment",
    "cluster": {"servers": 6, "nodes": 2, "node": {"cpu": 10, "mem": "20 GB"}},
    "workload": {
        "requests": 10,
        "arrivals": {"fixed": {"every": "1 s"}},
        "flavours": [{"cpu": 1}],
        "lifetimes": {"fixed": "10 s"},
    },
    "agents": ["first-fit"],
}
"""What a fragment of a scenario is laid over."""
MINIMALS: dict[str, dict[str, Any]] = {
    "docs/learn/learned.md": {
        "cluster": {"network": {"topology": "alpha"}, "node": {"cpu": 10, "mem": 10}},
        "workload": {"demand": "uniform", "requests": 16, "holding": 4},
    },
    "docs/solve/packing.md": {
        "cluster": {"servers": 1, "node": {"cpu": 1, "mem": 1, "disk": 1, "inbound": 1, "outbound": 1}}
    },
    "docs/queue/jobs.md": {"cluster": {"servers": 6, "node": {"cpu": 10, "mem": "20 GB"}}},
}
"""Pages whose fragments are of other scenarios."""
SHORTER = {
    '{"cluster.servers": 20, ': '{"cluster.servers": 20, "workload.requests": 1000, "replications": 2, ',
    '"replications=3", out': '"workload.requests=200", "replications=2", out',
    "time=10": "time=2",
    "seeds=20)": "seeds=2, validation=2, test=2)",
    'until="acceptance >= 95 %", most': '"workload.requests=200", "replications=2", until="acceptance >= 95 %", most',
    "train.iterations=20": 'train.iterations=1", "train.seeds=1", "train.validation.episodes=2',
    "make_vec(name, 64": "make_vec(name, 2",
    'binwright/Numa-v0", 64': 'binwright/Numa-v0", 2',
    '"sweep={}", agent="best-home"': '"sweep={}", "workload.requests=16", agent="best-home", rounds=1, population=4, '
    "seeds=1, held_out=5",
}
"""Parts of Python snippets, and what is run in their place, so that it does not take long."""
NOT_RUN = {
    "docs/results/batches.md": "needs a Ray cluster; tests/scenarios/test_ray.py has one",
    "docs/results/reproduce.md": "takes minutes; tests/binwright/test_reproduce.py runs the smallest",
    "docs/solve/service.md": "needs a service; tests/binwright/service has one",
}
"""Pages whose Python is compiled, and whose calls are bound to their signatures, only."""
LONG = {
    "docs/learn/environments.md", "docs/learn/learned.md", "docs/learn/search.md", "docs/learn/tuning.md",
    "docs/plan/size.md", "docs/results/figures.md", "docs/results/report.md", "docs/solve/packing.md",
    "docs/solve/solver.md",
}  # fmt: skip
"""Pages whose Python is run in `make test-all` only."""
BEFORE = {
    "docs/start/engine.md": "from binwright import Agent",
    "docs/results/report.md": "import binwright as bw; results = bw.load('results/quickstart')",
    "docs/results/figures.md": "import binwright as bw, polars as pl, pathlib\n"
    "for seed in 0, 1:\n"
    "    folder = pathlib.Path(f'results/small-{seed}')\n"
    "    folder.mkdir()\n"
    "    rows = {'step': [1, 2], 'seconds': [1.0, 2.0], 'split': ['train'] * 2, 'seed': [seed] * 2, 'gain': [0.1, 0.2]}"
    "; pl.DataFrame(rows).write_parquet(folder / 'log.parquet')\n",
}
"""What a page takes to be there."""


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results like those of the quickstart, and others beside them."""
    folder = tmp_path_factory.mktemp("documentation") / "results"
    few = ("workload.requests=80", "replications=5", "agents=[first-fit, best-fit, worst-fit]")
    bw.run("quickstart", *few, "record=[requests, samples, states]", out=folder / "quickstart", jobs=1)
    bw.run("quickstart", *few, "name=other", "cluster.servers=2", out=folder / "other", jobs=1)
    return folder


@pytest.fixture
def bare_desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the repository's folders that commands name."""
    for name in ("agents", "scenarios"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def desk(bare_desk: Path, small: Path) -> Path:
    """A folder to work in, with these results, too."""
    shutil.copytree(small, bare_desk / "results")
    return bare_desk


def file_of(block: Block) -> str:
    """Find the file name that a block begins with, as `# mine.py` or `# small.yaml: what it is`."""
    result = re.match(r"# ([\w/.-]+\.\w+)\b", block.text)
    return result[1] if result else ""


READ = """\
cluster: {servers: 2, node: {cpu: 64, mem: 384 GB}}
workload: {trace: table, path: vms.csv, units: {mem: B}}
agents: [first-fit]
"""
"""What `traces describe` may have written."""


def lay_out(page: str) -> None:
    """Write the files that the blocks of a page are, and those that README's text takes to be there."""
    for block in blocks("python", "yaml", ""):
        name = file_of(block) or ("sizes.yaml" if "name: sizes" in block.text else "")
        if name and block.page == page:
            Path(name).parent.mkdir(parents=True, exist_ok=True) if "agents/" not in name else None
            Path(Path(name).name if "agents/" in name else name).write_text(block.text)
    small = next(block.text for block in blocks("yaml") if file_of(block) == "small.yaml")
    for name in ("small", "table", "a", "b", "c"):
        Path(f"{name}.yaml").write_text(small)
    Path("vms.yaml").write_text(READ)


PYTHON: dict[str, list[Block]] = {}
for _block in blocks("python"):
    PYTHON.setdefault(_block.page, []).append(_block)


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.long] * (page in LONG)) for page in sorted(PYTHON)]
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_python_runs(page: str, desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay_out(page)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(BEFORE.get(page, ""), names)
    for block in PYTHON[page]:
        text = block.text
        for long, short in SHORTER.items():
            text = text.replace(long, short)
        code = compile("\n" * block.line + text, str(ROOT / page), "exec")
        if page not in NOT_RUN:
            exec(code, names)
        for call in ast.walk(ast.parse(text)):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                of = call.func.value
                if isinstance(of, ast.Name) and of.id == "bw" and not any(each.arg is None for each in call.keywords):
                    options = {str(each.arg): None for each in call.keywords}
                    signature(getattr(bw, call.func.attr)).bind(*call.args, **options)


def test_tables_of_exceptions_name_existing_pages_and_text() -> None:
    assert set(NOT_RUN) | LONG | set(BEFORE) <= set(PYTHON)
    assert set(MINIMALS) <= {name_of(page) for page in pages()}
    whole = "".join(block.text for actual in PYTHON.values() for block in actual)
    assert [part for part in SHORTER if part not in whole] == []


@pytest.mark.parametrize("block", blocks("yaml"), ids=lambda each: f"{each.page}:{each.line}")
def test_yaml_loads(block: Block, bare_desk: Path) -> None:
    lay_out(block.page)
    data = yaml.safe_load(block.text)
    if isinstance(data, list):
        data = {"agents": data}
    if "extends" in data:
        Path("laid-over.yaml").write_text(block.text)
        assert load_scenario("laid-over.yaml").agents
        return
    base = {**MINIMAL, **MINIMALS.get(block.page, {})}
    scenario = scenario_from({**base, **data})
    assert scenario.agents


PLACEHOLDERS = {
    "FILE": "quickstart", "FILE...": "quickstart", "RESULTS": "results/quickstart",
    "results/NAME": "results/quickstart", "KIND": "spread", "KEY=VALUE": "seed=0", "A,B": "tetris,nara",
    "/shared/table.yaml": "table.yaml", "results/before": "results/quickstart", "results/after": "results/other",
    "before/best-fit": "best-fit", "1658": "58",
}  # fmt: skip
"""What stands in for words of a command that nobody types."""


@pytest.mark.parametrize("page", sorted({block.page for block in commands()}))
def test_commands_are_right(page: str, desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay_out(page)
    for block in commands():
        if block.page == page:
            words = [word for word in shlex.split(block.text, comments=True) if not word.startswith("[")]
            words = [PLACEHOLDERS.get(word, word) for word in words if not word.endswith("]") or "=" in word]
            program, *arguments = takewhile(lambda word: word not in ("|", ">", "2>", "2>&1"), words)
            if program == "binwright":
                check_command(arguments)
            elif program == "make":
                assert re.search(rf"^{arguments[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), block
            elif program == "python":
                assert arguments[0] == "-m"
                assert find_spec(arguments[1]), block
            elif program == "pip":
                check_extras(arguments)
            else:
                assert program in (".venv/bin/pytest", ".venv/bin/ruff", ".venv/bin/mypy", "kubectl"), block


def check_extras(arguments: list[str]) -> None:
    """Hold the extras that are to be installed to those that there are."""
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for word in arguments:
        if result := re.fullmatch(r"(?:binwright|\.)\[(.*)\]", word):
            assert set(result[1].split(",")) <= set(known)


def check_command(arguments: list[str]) -> None:
    """Parse a command with the real parser, load what it names, and do what is quick."""
    requested = parser().parse_args(arguments)
    command = requested.command
    if command in ("run", "validate"):
        for file in requested.files:
            load_scenario(
                file,
                as_overrides(requested.sets, getattr(requested, "agents", None), getattr(requested, "seeds", None)),
            )
    elif command == "train":
        assert load_scenario(requested.file, requested.sets).train
    elif command == "tune":
        load_scenario(requested.file, [*requested.sets, f"agents=[{requested.agent}]"])
    elif command == "evaluate":
        load_scenario(requested.scenario, requested.sets)
    elif command == "size":
        scenario = load_scenario(requested.file, as_overrides(requested.sets, requested.agents, requested.seeds))
        for _, point in points(scenario):
            assert Question.of(point, " and ".join(requested.until or []) or None, None)
    elif command == "compare":
        check_metrics(requested.metrics)
        assert (requested.baseline or "first-fit").rpartition("/")[2].partition("(")[0] in AGENTS
        check_there_and_run(requested.results, arguments)
    elif command == "figures":
        assert {kind for kind in requested.kinds if ".py:" not in kind} <= {*FIGURES, "all"}
        check_metrics([name for name in requested.metrics if requested.kinds != ["timeline"]])
    elif command == "solve" and not requested.explain and requested.device == "cpu":
        check_solved([*arguments, *([] if "--check" in arguments else ["--check"])])
    elif command == "agents" and requested.agent in AGENTS:
        pass  # what it compiles takes long
    elif command in ("agents", "list"):
        assert cli.main(arguments) == 0


def check_metrics(names: list[str]) -> None:
    """Hold the names of metrics to those that there are."""
    known = {metric.name for metric in describe(["cpu", "mem"], ["fabric-spine"])}
    assert {re.sub("_(decisions|end)$", "", name) for name in names} <= known


def check_there_and_run(folders: list[str], arguments: list[str]) -> None:
    """Run a command on results if they are there."""
    if all(Path(folder).is_dir() for folder in folders):
        assert cli.main(arguments) == 0


def check_solved(arguments: list[str]) -> None:
    """Compile a specification."""
    assert cli.main([word for word in arguments if word != "--json"]) == 0


def test_paths_that_contributing_names_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    folders = "agents|analysis|binwright|docs|fabric|scenarios|simcore|tests|workloads"
    named = set(re.findall(rf"`((?:{folders})/[\w/.-]+)`", text))
    assert len(named) > 30
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("text", [each.text for each in blocks("") if "\nprocedure UTILFN" in each.text])
def test_specifications_compile(text: str, tmp_path: Path) -> None:
    (tmp_path / "page.alloc").write_text(text)
    for name in re.findall(r'FROM "([a-z.]+)"', text):
        (tmp_path / name).write_text("name,zone,app,cpu,node\nx,east,web,2,x\n")
    assert cli.main(["solve", "--check", str(tmp_path / "page.alloc")]) == 0
