"""One message: file, line, key, problem, value and remedy, as far as they apply."""

from pathlib import Path

import pytest

from binwright.simcore.errors import ScenarioError, nearest, suggest, unread


def test_a_full_message() -> None:
    error = ScenarioError(
        "is not a duration", file=Path("a.yaml"), line=3, key="workload.gap", value="1 parsec", remedy="Write 10 min."
    )
    assert str(error) == "a.yaml:3: workload.gap: is not a duration (got '1 parsec')\n  Write 10 min."
    assert (error.file, error.line, error.key, error.value) == (Path("a.yaml"), 3, "workload.gap", "1 parsec")


def test_a_suggestion_names_the_nearest_and_all() -> None:
    assert suggest("frist-fit", ["worst-fit", "first-fit"]) == "Did you mean 'first-fit'? Known: first-fit, worst-fit."
    assert suggest("zzz", ["worst-fit", "first-fit"]) == "Known: first-fit, worst-fit."
    assert suggest("zzz", []) == "Known: none."


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("frist-fit", "first-fit", True),  # two letters that changed places
        ("gpu", "cpu", True),
        ("mem_hour", "mem_gb_hour", True),
        ("MEM", "mem", True),
        ("results", "tests", False),
        ("nope", "nodes", False),
        ("region", "regimes", False),
        ("again", "agents", False),
        ("Q", "R", False),
        ("x" * 700, "x" * 699, False),  # that is text, not a name
    ],
)
def test_suggestions_are_near_names_only(name: str, known: str, near: bool) -> None:
    assert nearest(name, [known]) == (known if near else None)


def test_a_file_that_is_not_there_suggests_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "pods.csv").touch()
    for name, suggestion in (
        ("podz.csv", "Did you mean 'pods.csv'?"),
        ("x", "Check the path."),
        ("no/pods.csv", "Check"),
    ):
        problem, remedy = unread(FileNotFoundError(), tmp_path / name, "Write one.")
        assert problem == "there is no such file"
        assert remedy.startswith(suggestion)
    assert unread(IsADirectoryError(21, "Is a directory"), tmp_path, "Name a file.") == (
        "cannot be read: Is a directory",
        "Name a file.",
    )
