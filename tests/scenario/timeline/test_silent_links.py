"""Links that carry nothing: refused where they are written, and counted as gone in play."""

import pytest

from emulator.errors import ScenarioError
from emulator.scenario import Scenario, loads
from emulator.scenario.timeline.compiled import timeline
from emulator.scenario.timeline.link_changes import silent_links

HEAD = """
name: dead
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
stop: {updates: 20}
virtual: {learner: none, step: 100ms, boot: 0s, serve: 0s}
"""

WAYS = ("up", "down")
SIDES = {
    "loss": "{loss: 100%}",
    "nearly": "{rate: 1mbit, loss: 99.99999%}",
    "corrupt": "{corrupt: 100%}",
    "both": "{loss: 1%, corrupt: 100%}",
    "twice": "{loss: 100%, duplicate: 100%}",
    "gemodel": "{loss_model: {gemodel: {p: 100%, r: 0%}}}",
    "absorbing": "{loss_model: {gemodel: {p: 1%, r: 0%}}}",
    "good": "{loss_model: {gemodel: {p: 10%, r: 10%, 1-h: 100%, 1-k: 100%}}}",
    "state": "{loss_model: {state: {p13: 1%, p31: 0%}}}",
    "steps": "{rate: 1mbit, loss: 100%, steps: [{at: 1s, rate: 2mbit}]}",
    "zeros": "{delay: 1ms, trace: {samples: '0 0, 5 0, end 6'}}",
    "zeros-once": "{delay: 1ms, trace: {samples: '0 0, 5 0, end 6', loop: false}}",
    "losses": "{rate: 1mbit, trace: {samples: '0 - - 1, end 6'}}",
    "mixed": "{delay: 1ms, trace: {samples: '0 0, 3 1e6 0.1 1, end 6'}}",
    "scaled": "{delay: 1ms, trace: {samples: '0 1e6, end 6', scale: 0.00001}}",
}
"""Sides that never carry a packet."""
PROFILE = "{name: f, faults: [%s]}"
FAULTS = {
    "loss": "loss: 100%",
    "link": "link: {up: {loss: 100%}}",
    "down": "link: {down: {corrupt: 100%}}",
    "model": "link: {up: {loss_model: {gemodel: {p: 50%, r: 0%}}}}",
}
"""Keys of `degrade` that leave nothing of a link."""


def _loaded(devices: str, more: str = "") -> Scenario:
    return loads(f"{HEAD}devices: [{devices}]\n{more}")


def _device(way: str, side: str, name: str = "far") -> str:
    return f"{{name: {name}, link: {{{way}: {side}}}}}"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("side", SIDES)
def test_a_link_that_never_carries_a_packet_is_refused_at_its_key(way: str, side: str) -> None:
    with pytest.raises(ScenarioError, match="to cut a link, use a partition") as refused:
        _loaded(_device(way, SIDES[side]))
    (mistake,) = refused.value.mistakes
    assert mistake["place"].startswith(f"devices[0].link.{way}.")


@pytest.mark.parametrize("side", [key for key in SIDES if "trace" not in SIDES[key]])
def test_the_server_s_link_is_refused_too(side: str) -> None:
    if side == "steps":  # a link of the server's cannot change at all
        return
    with pytest.raises(ScenarioError, match="to cut a link, use a partition") as refused:
        _loaded("{name: a}", f"server: {{link: {{up: {SIDES[side]}}}}}")
    assert refused.value.mistakes[0]["place"].startswith("server.link.up.")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("when", ["at: 1s", "every: 5min", "per_iteration: 1%"])
def test_a_fault_for_good_may_leave_something(fault: str, when: str) -> None:
    written = f"{{kind: degrade, nodes: [far], {when}, {FAULTS[fault]}}}"
    with pytest.raises(ScenarioError, match="to cut a link, use a partition; or give `lasts`"):
        _loaded("{name: far, link: dsl}", f"faults: [{written}]")
    lasting = written.replace(when, f"{when}, lasts: 2s")
    assert _loaded("{name: far, link: dsl}", f"faults: [{lasting}]").faults
    recurring = written.replace("nodes: [far], ", "")
    if when != "at: 1s":
        with pytest.raises(ScenarioError, match="use a partition"):
            _loaded(f"{{name: far, link: dsl, failures: [{PROFILE % recurring}]}}")


def test_a_fault_for_good_may_leave_some_messages_whole() -> None:
    spoilt = "faults: [{kind: corrupt, nodes: [far], at: 1s, messages: %s}]"
    with pytest.raises(ScenarioError, match="messages: all messages are spoilt"):
        _loaded("{name: far}", spoilt % "100%")
    assert _loaded("{name: far}", spoilt % "99%").faults
    assert _loaded("{name: far}", spoilt % "100%, lasts: 1s").faults


CARRIES = {
    "loss": "{loss: 99.9%}",
    "both": "{loss: 99%, corrupt: 99%}",
    "model": "{loss_model: {gemodel: {p: 100%, r: 0%, 1-h: 90%}}}",
    "good": "{loss_model: {gemodel: {p: 0%, r: 0%}}}",
    "trace": "{delay: 1ms, trace: {samples: '0 0, 5 1e6, end 6'}}",
}


@pytest.mark.parametrize("side", CARRIES)
def test_a_link_that_carries_something_is_taken(side: str) -> None:
    assert _loaded(_device("up", CARRIES[side])).devices


ENDS = {
    "steps": ("{rate: 1mbit, steps: [{at: 2s, loss: 50%}, {at: 3s, loss: 100%}]}", "", 3.0),
    "trace": ("{delay: 1ms, trace: {samples: '0 1e6, 3 0, 4 0, end 6', loop: false}}", "", 3.0),
    "losses": ("{trace: {samples: '0 1e6 0.01 0, 3 1e6 0.01 1, end 6', loop: false}}", "", 3.0),
    "start": ("{trace: {samples: '0 1e6, 3 0, end 6', loop: false, start: 1s}}", "", 2.0),
    "cut": (
        "{rate: 1mbit, steps: [{at: 1s, loss: 100%}]}",
        "faults: [{kind: degrade, nodes: [far], at: 0s, lasts: 3s, link: dsl}]",
        3.0,
    ),
    "fault": (
        "{rate: 1mbit, steps: [{at: 4s, loss: 100%}]}",
        "faults: [{kind: degrade, nodes: [far], at: 3s, lasts: 5s, loss: 100%}]",
        3.0,
    ),
    "back": (
        "{rate: 1mbit, steps: [{at: 4s, loss: 100%}]}",
        "faults: [{kind: degrade, nodes: [far], at: 5s, link: dsl}]",
        None,
    ),
    "round": ("{delay: 1ms, trace: {samples: '0 1e6, 3 0, end 6'}}", "", None),
}
"""A side, faults, and the second from which the link carries nothing for good."""


@pytest.mark.parametrize("kind", ENDS)
def test_a_link_carries_nothing_for_good_from_a_second_on(kind: str) -> None:
    side, faults, at = ENDS[kind]
    scenario = _loaded(_device("up", side), faults)
    expected = {} if at is None else {"far": pytest.approx(at)}
    assert silent_links(scenario, timeline(scenario)) == expected
