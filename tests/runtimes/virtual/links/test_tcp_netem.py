"""TCP in virtual time against real TCP over links with delay and loss, on a kernel with netem."""

import json
from pathlib import Path

import pytest

from emulator.runtimes.virtual.links.network import link_constants
from emulator.world.links.link import Link
from tests.fakes.virtual.replayed_transfers import Transfer, modelled
from tests.netem import machine, transfers
from tests.netem.transfers import Case
from tests.netem.tries import Tries, tried_twice

pytestmark = [
    pytest.mark.netem,
    pytest.mark.skipif(bool(machine.lacking()), reason=machine.lacking()),
    pytest.mark.timeout(2500),  # two machines
]

Times = list[tuple[float, float]]
"""When each message was sent, and received whole."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Tries[dict[int, Times]]:
    return Tries(lambda: _booted(tmp_path_factory))


def _booted(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Times]:
    """By number of the case."""
    work: Path = tmp_path_factory.mktemp("netem")
    console = machine.boot("tests.netem.transfers", work)
    lines = [line for line in console.splitlines() if line.startswith(transfers.MARK)]
    assert len(lines) == len(transfers.EXACT) + len(transfers.LOSSY), console
    result: dict[int, Times] = dict(json.loads(line.removeprefix(transfers.MARK)) for line in lines)
    return result


@tried_twice
def test_slow_start_takes_as_long_as_in_virtual_time(measured: dict[int, Times]) -> None:
    """On a new connection, and on a connection after a rest."""
    result = [
        item
        for number, case in enumerate(transfers.EXACT)
        for item in _both(case, measured[number])
    ]
    for item in result:
        print(item)
    assert all(abs(item.difference) < 0.1 for item in result)


def _both(case: Case, times: Times) -> list[Transfer]:
    model = modelled(case.link, "up", case.size, [sent for sent, _ in times])
    return [
        Transfer(case.link, "up", case.size, received - sent, arrived - sent)
        for (sent, received), arrived in zip(times, model, strict=True)
    ]


@pytest.mark.parametrize(
    ("number", "case"),
    list(enumerate(transfers.LOSSY, len(transfers.EXACT))),
    ids=[f"{case.loss:.0%} of {case.rate / 1e6:.0f}mbit" for case in transfers.LOSSY],
)
@tried_twice
def test_loss_costs_what_it_does_in_virtual_time(
    measured: dict[int, Times], number: int, case: Case
) -> None:
    """For all messages but the first. Only a few dozen packets are lost, so chance plays a part."""
    (_, first), *_, (_, last) = measured[number]
    took = (last - first) / (case.count - 1)
    model = case.link.up.transfer(case.size) - case.link.up.delay
    model *= case.rate / link_constants(case.link, Link(), "up", tcp=True).rate
    result = Transfer(case.link, "up", case.size, took, model)
    print(f"{result} at a loss of {case.loss:.0%}")
    assert abs(result.difference) < 0.3
