"""Losses in bursts in virtual time, against this kernel's TCP through the packet box."""

import math
import os
from contextlib import ExitStack
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import NamedTuple

import pytest

from emulator.runtimes.virtual.clock import Heap
from emulator.runtimes.virtual.links.link_group import LinkGroup
from emulator.runtimes.virtual.links.network import link_constants
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link, Side
from emulator.world.links.loss_models import FourStates, Gemodel, LossModel
from tests.containers.host_pace import judged_each
from tests.netem.box import packet_box
from tests.netem.lab import lab

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces"),
    pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="needs /dev/net/tun"),
]

SIZE, LIMIT = 20_000, 8.0
LINKS = 6
"""Real links of each model: chance decides when the first long burst comes."""
RUNS = 100


def _gemodel(p: float, r: float, **shares: float) -> LossModel:
    return LossModel(
        Gemodel(Fraction(p), Fraction(r), **{key: Fraction(each) for key, each in shares.items()})
    )


MODELS = {
    "no loss": None,
    "bursts of 4": _gemodel(0.01, 0.25),
    "bursts of 10": _gemodel(0.01, 0.1),
    "bursts of 100": _gemodel(0.01, 0.01),
    "half of each burst": _gemodel(0.02, 0.1, bad=0.5),
    "four states": LossModel(
        state=FourStates(
            Fraction(0.02), Fraction(0.3), Fraction(0.2), Fraction(0.4), Fraction(0.01)
        )
    ),
}

FIRST = ("no loss", "bursts of 10")
"""Models that the gate plays; `make test-all` plays all."""


def _link(model: LossModel | None) -> Link:
    side = Side(Rate(2e6), Seconds(0.02))
    return Link(up=Side(Rate(2e6), Seconds(0.02), loss_model=model), down=side)


def _modelled(link: Link) -> list[int]:
    """Return the messages of `LIMIT` seconds in each of `RUNS` runs in virtual time."""
    found = []
    for run in range(RUNS):
        heap, arrived = Heap(), list[float]()
        constants = link_constants(link, Link(), "up", tcp=True)
        group = LinkGroup(heap, constants, 1, lambda _, run=run: Random(run))
        for _ in range(200):
            group.send(0, SIZE, lambda heap=heap, arrived=arrived: arrived.append(heap.now))
        heap.run(LIMIT, 1_000_000)
        found.append(sum(at <= LIMIT for at in arrived))
    return found


class Counted(NamedTuple):
    """Messages of each real link with the losses of a model."""

    name: str
    messages: list[int]


def _measured(names: list[str]) -> list[Counted]:
    """Count the messages of `LINKS` links of each model, all at once."""
    with ExitStack() as stack:
        box = stack.enter_context(packet_box())
        labs = {name: [stack.enter_context(lab()) for _ in range(LINKS)] for name in names}
        for name, own in labs.items():
            for here in own:
                box.attach(here, _link(MODELS[name]))
        streams = {
            name: [here.stream("up", SIZE, 200, limit=LIMIT) for here in own]
            for name, own in labs.items()
        }
        return [
            Counted(name, [len(stream.messages()) for stream in own])
            for name, own in streams.items()
        ]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(FIRST, id="first"),
        *(
            pytest.param((name,), marks=pytest.mark.thorough, id=name)
            for name in MODELS
            if name not in FIRST
        ),
    ],
)
def test_bursts_cost_what_they_do_in_the_box(names: tuple[str, ...]) -> None:
    """Chance decides in which message the first long burst comes, so far apart is no fault once."""
    bounds = {}
    for name in names:
        model = _modelled(_link(MODELS[name]))
        mean = fmean(model)
        spread = 3 * stdev(model) / math.sqrt(LINKS) + 0.35 * mean
        print(f"{name}: modelled {mean:.1f} ± {stdev(model):.1f} messages")
        bounds[name] = mean - spread, mean + spread

    def kept(found: Counted, longer: float) -> bool:
        least, most = bounds[found.name]
        return least / longer < fmean(found.messages) < most

    judged_each(_measured, names, kept)
