"""What is said to be in the way of a ball is what the verifier would say."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents.solver import problem
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.verify import faults
from binwright.agents.solver.solving.answer import left, obstacles
from binwright.cli import main
from binwright.simcore.errors import UserError
from tests.support.forms import forms
from tests.support.properties import scaled
from tests.support.solving import changed


@pytest.mark.long
@scaled(0.6)
@given(inputs=forms(), seed=st.integers(0, 9), drain=st.booleans())
def test_a_ball_fits_where_nothing_is_in_its_way(inputs: Problem, seed: int, drain: bool) -> None:
    if drain:
        inputs = changed(inputs, None, drain=[0])
    answer = bw.solve(inputs, search="published", seed=seed, attempts=1)
    for ball in range(inputs.balls):
        members = np.flatnonzero(inputs.unit_of == inputs.unit_of[ball]).tolist()
        for place, them in enumerate(obstacles(inputs, answer.alloc, ball)):
            alloc = answer.alloc.copy()
            for each in members:
                alloc[each] = place
            assert (not them) == (not faults(inputs, alloc)), (ball, place, them)
            if answer.alloc[ball] == place:
                assert not them


TEXT = """
BALLS 4 BINS 4 RESOURCES C[b in BINS] => 10, TOGETHER[z in 2] => 3
TABLE D = [8, 8, 3, 12]
FOES 0, 2  PIN 1 TO 1  DRAIN 3
procedure UTILFN(BALL, BIN, ALLOC)
    if BIN == 2 and BALL == 2 REJECT end
    UTIL.C[BIN] += D[BALL]
    UTIL.TOGETHER[BIN % 2] += 1
end
"""


def test_every_rule_has_its_name() -> None:
    inputs = problem(TEXT)
    alloc = [0, 1, NULL, NULL]
    rules = [[row.rule for row in them] for them in obstacles(inputs, alloc, 2)]
    assert rules == [["FOES", "C"], ["C"], ["UTILFN"], ["DRAIN"]]
    assert left(inputs, alloc)[1] == {"ball": 3, "in_the_way": {"C": 4, "DRAIN": 1}}
    in_bin_0 = next(obstacles(inputs, alloc, 1))
    assert [row.text for row in in_bin_0] == ["ball 1 in bin 0: it is pinned to bin 1", "C[0]: 16 of 10"]
    with pytest.raises(UserError, match="there is no such ball"):
        list(obstacles(inputs, alloc, 4))
    apart = problem(TEXT.replace("FOES 0, 2", "DIFFERENT 0, 2"))
    assert "DIFFERENT" in left(apart, alloc)[0]["in_the_way"]
    emptied = [*obstacles(changed(inputs, None, drain=[1]), [0, NULL, NULL, NULL], 2)][1]
    assert [(each.rule, each.text) for each in emptied] == [("DRAIN", "DRAIN[1]: 1 of 0")]


def test_explain_prints_the_rules_in_the_way_of_each_ball(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, answer = tmp_path / "mine.alloc", tmp_path / "answer.json"
    file.write_text(TEXT)
    assert main(["solve", str(file), "--json", "--time", "1s"]) == 1
    answer.write_text(capsys.readouterr().out)
    left = json.loads(answer.read_text())["left"]
    assert {each["ball"]: each["in_the_way"] for each in left}[3] == {"C": 4, "DRAIN": 1}
    assert main(["solve", str(file), "--explain", str(answer)]) == 0
    output = capsys.readouterr().out
    assert "3 is not placed: C in 4 bins, DRAIN in 1" in output
    assert main(["solve", str(file), "--explain", str(answer), "--ball", "3"]) == 0
    assert "C[3]: 12 of 10; DRAIN[3]: 1 of 0" in capsys.readouterr().out
    assert main(["solve", str(file), "--explain", str(answer), "--ball", "7"]) == 2
    assert "there is no such ball" in capsys.readouterr().err
    moved = ["--from", str(answer), "--moves", "0", "--drain", str(json.loads(answer.read_text())["alloc"][1])]
    assert main(["solve", str(file), "--explain", str(answer), "--ball", "1", *moved]) == 2
    assert "DRAIN[" in capsys.readouterr().err
    assert main(["solve", str(file), "--explain", str(answer), "--ball", "1", *moved[:4]]) == 0
    assert "MOVES: 1 of 0" in capsys.readouterr().out
    answer.write_text('{"alloc": [1, 1, 0, null]}')
    assert main(["solve", str(file), "--explain", str(answer)]) == 2
    assert "is not right" in capsys.readouterr().err
    answer.write_text('{"alloc": [1, 9]}')
    for option in ("--explain", "--from"):
        assert main(["solve", str(file), option, str(answer)]) == 2
        assert f"{answer}: ball 1 is in bin 9, which there is not" in capsys.readouterr().err
    file.write_text("BINS 103 BALLS 1 RESOURCES C => 1 procedure UTILFN(BALL, BIN, ALLOC) UTIL.C += 1 end")
    answer.write_text('{"alloc": [0]}')
    assert main(["solve", str(file), "--explain", str(answer), "--ball", "0"]) == 0
    assert capsys.readouterr().out.endswith("\nand 3 bins more\n")
    file.write_text(file.read_text() + " MINIMISE 2 * UTIL.C")
    assert main(["solve", str(file), "--explain", str(answer)]) == 0
    assert capsys.readouterr().out == "minimise 2 * UTIL.C: 2 (bound 0)\n"
    answer.write_text(json.dumps({"alloc": [0], "goals": [{"bound": 2.0}]}))  # perhaps with other options
    assert main(["solve", str(file), "--explain", str(answer)]) == 0
    assert capsys.readouterr().out == "minimise 2 * UTIL.C: 2 (bound 2 in the answer)\n"
    file.write_text(f"{TEXT} PIN 9 TO 0")
    assert main(["solve", str(file), "--from", str(answer)]) == 2
    assert f"{file}:" in capsys.readouterr().err
