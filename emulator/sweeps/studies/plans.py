"""Plans of schedules, and times of a group update: computed by studies without a run."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from ...core.scheduling.prior_costs import LinkEstimate, PriorCosts
from ...costs.computing_times import with_layers
from ...costs.exchange import update_sizes
from ...costs.layer_costs import expected_costs
from ...costs.prediction import hardware_efficiency
from ...scenario import load
from ...schedules import DynaComm, IBatch, LayerByLayer, LayerCosts, Schedule, Sequential, cut
from ...schedules.timing import PhaseTiming, iteration
from ...world.links.link import FRAME
from .entries import Entry, Study

SCHEDULES: dict[str, Schedule] = {
    schedule.kind: schedule for schedule in (Sequential(), LayerByLayer(), IBatch(), DynaComm())
}

_RATES = tuple(1e7 * 10 ** (step / 8) for step in range(25))
"""Bits per second, from 10 mbit to 10 gbit."""
_SETUPS = tuple(1e-4 * 10 ** (step / 8) for step in range(25))
"""Seconds, from 0.1 ms to 100 ms."""

_LAYERS = (10, 20, 50, 100, 200, 500, 1000)
_PAPER_UP_TO = 200
"""Layers up to which the paper's algorithm is timed: its time grows with their third power."""
_REPEATS = 5


def _dynacomm(study: Study) -> dict[str, Any]:
    """Return the plans of each network and batch size of the study's own scenario.

    `bars`, `rates` and `setups` hold a row for each plan, `planning` the cost of planning itself.
    """
    entries = {e.world: e for e in study.entries if e.scenario == study.scenario}
    known = {world: _prior(entry) for world, entry in entries.items()}
    bars: list[dict[str, Any]] = []
    largest: dict[str, PriorCosts] = {}
    for world, prior in known.items():
        network, batch = world.split(", batch ")
        bars += _rows(prior.seconds, network=network, batch=int(batch))
        largest[network] = prior
    return {
        "bars": bars,
        "rates": [
            row
            for network, prior in largest.items()
            for rate in _RATES
            for row in _rows(_linked(prior, rate=rate).seconds, network=network, rate=rate)
        ],
        "setups": [
            row
            for network, prior in largest.items()
            for setup in _SETUPS
            for row in _rows(_linked(prior, setup=setup).seconds, network=network, setup=setup)
        ],
        "planning": list(_planning()),
    }


def _prior(entry: Entry) -> PriorCosts:
    """Return the costs of the network of `entry` on its device."""
    # a layer table has its shares of a step by its counts, so nothing is measured
    scenario = with_layers(load(entry.scenario, entry.sets), tell=lambda step: None)
    training = scenario.training
    sizes = update_sizes(training.codec, training.layout)
    return expected_costs(scenario, scenario.devices[0], training.layout, sizes)


def _linked(
    prior: PriorCosts, *, rate: float | None = None, setup: float | None = None
) -> PriorCosts:
    """Return `prior` with another rate in bit/s, or another set-up time, of both directions."""

    def changed(link: LinkEstimate) -> LinkEstimate:
        pace = link.pace if rate is None else 8 * FRAME / rate
        return LinkEstimate(link.setup if setup is None else setup, pace, link.delay)

    return PriorCosts(
        prior.forward,
        prior.backward,
        prior.pull,
        prior.push,
        down=changed(prior.down),
        up=changed(prior.up),
        head=prior.head,
    )


def _rows(costs: LayerCosts, **point: Any) -> Iterator[dict[str, Any]]:
    """Yield the plan of each schedule at `point`: a mapping of its coordinates."""
    for kind, schedule in SCHEDULES.items():
        cuts = cut(schedule, costs)
        times = iteration(cuts, costs)
        yield {
            **point,
            "schedule": kind,
            "segments": [len(cuts.pull), len(cuts.push)],
            "forward": _parts(times.forward),
            "backward": _parts(times.backward),
        }


def _parts(phase: PhaseTiming) -> list[float]:
    """Return the seconds of exposed transfer, of overlap, and of exposed computing."""
    parts = (phase.exposed_transfer, phase.overlapped, phase.exposed_computing)
    return [max(0.0, float(part)) for part in parts]


def _planning() -> Iterator[dict[str, Any]]:
    """Yield the CPU seconds of a plan by number of layers: the least of several measurements."""
    methods: dict[str, Schedule] = {
        "fast": DynaComm(),
        "paper": DynaComm(method="paper"),
        "ibatch": IBatch(),
    }
    for layers in _LAYERS:
        costs = _varied(layers)
        for name, schedule in methods.items():
            if name == "paper" and layers > _PAPER_UP_TO:
                continue
            seconds = min(_timed(schedule, costs) for _ in range(_REPEATS))
            yield {"layers": layers, "method": name, "seconds": seconds}


def _timed(schedule: Schedule, costs: LayerCosts) -> float:
    began = time.process_time()
    cut(schedule, costs)
    return time.process_time() - began


def _varied(layers: int) -> LayerCosts:
    """Return costs of a network with `layers` layers, from 1 to 11 ms, with a set-up of 2 ms."""
    # multiples of a number that is prime to 101 run through its remainders without a pattern
    pull, forward, backward, push = (
        tuple(1e-3 + 1e-4 * (factor * layer % 101) for layer in range(layers))
        for factor in (37, 59, 23, 71)
    )
    return LayerCosts(pull, forward, backward, push, 2e-3, 2e-3)


def _omnivore(study: Study) -> dict[str, Any]:
    """Return the seconds of a group update by formula and by queue, for each number of groups."""
    entries = {e.world: e for e in study.entries if e.scenario == study.scenario}
    groups = sorted(int(world.removeprefix("g = ")) for world in entries)
    known = hardware_efficiency(load(study.scenario), groups, lambda step: None)
    return {"hardware": [asdict(known.predicted(count)) for count in groups]}


PLANS: Mapping[str, Callable[[Study], dict[str, Any]]] = {
    "dynacomm": _dynacomm,
    "omnivore": _omnivore,
}
"""Functions that compute values for the figures, as JSON types, by the name in a study's file."""
