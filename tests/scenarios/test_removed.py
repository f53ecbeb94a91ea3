"""Names that are gone say what to do instead."""

import pytest

from binwright.cli import main
from binwright.scenarios.schema.load import load_scenario
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import UnknownName, UserError
from binwright.simcore.registry import Registry
from binwright.simcore.removed import REMOVED

KINDS = {registry.kind: registry for registry in Registry.every}


@pytest.mark.parametrize("name", REMOVED)
def test_no_name_that_is_gone_is_in_use(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    kind, _, registered = name.partition(" ")
    if kind == "command":
        with pytest.raises(SystemExit):
            main([registered])
        error = capsys.readouterr().err
        assert f"the command {registered} is gone\n  {REMOVED[name]}" in error
    elif registered:
        assert registered not in KINDS[kind]
        with pytest.raises(UnknownName, match=f"this {kind} is gone") as found:
            KINDS[kind].load(registered)
        assert found.value.remedy == REMOVED[name]
    else:
        section = name.rpartition(".")[0]
        assert not section or section in Scenario.known()
        with pytest.raises(UserError, match="this key is gone") as refused:
            load_scenario("quickstart", [f"{name}={{a: 1}}"])
        assert REMOVED[name] in str(refused.value)


def test_a_mover_in_a_scenario_that_is_gone_says_what_to_take() -> None:
    with pytest.raises(UserError, match="this key is gone") as refused:
        load_scenario("moves/hourly", ["rescheduling.mover={lars: {}}"])
    assert REMOVED["mover lars"] in str(refused.value)


def test_an_agent_in_a_scenario_that_is_gone_says_what_to_take() -> None:
    with pytest.raises(UserError, match="this agent is gone") as refused:
        load_scenario("quickstart", ["agents=[adaptive]"])
    assert REMOVED["agent adaptive"] in str(refused.value)
