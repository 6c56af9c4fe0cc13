"""Records of plans and of their iterations, as a device on a link of its own would write them."""

from random import Random
from typing import Any

from emulator.core.scheduling.plan_outcome import IterationPlan
from emulator.core.scheduling.prior_costs import LinkEstimate
from emulator.schedules import DynaComm, LayerCosts, cut
from tests.fakes.plain_records import PlainRecord, plain

LAYERS = {
    "pull": (0.02, 0.05, 0.9, 0.1, 0.01),
    "forward": (0.05, 0.12, 0.09, 0.02, 0.01),
    "backward": (0.11, 0.21, 0.19, 0.03, 0.01),
    "push": (0.004, 0.01, 0.2, 0.03, 0.002),
}
"""Seconds of each layer on a slow device, the first layer first."""
SETUP = 0.01
REST = 0.02


def planned(node: str, at: float, first: int, schedule: Any = None) -> PlainRecord:
    """Return the record of a plan of `node` for the iterations from `first` on."""
    return plain(_plan(first, schedule or DynaComm()).record(node, at))


def realised(node: str, at: float, last: int, random: Random, schedule: Any = None) -> PlainRecord:
    """Return the record of ten iterations up to `last`, each layer up to a tenth slower or
    faster than planned."""
    plan = _plan(1, schedule or DynaComm())
    times = {key: tuple(_jittered(layers, random)) for key, layers in LAYERS.items()}
    result = IterationPlan(1, plan.kind, plan.cuts, _costs(times), plan.down, plan.up, REST)
    record, expected = plain(result.record(node, at)), plain(plan.record(node, at))
    kept = ("at", "node", "pull", "push", "t_forward", "t_backward", "t_iteration")
    spans = ("pulled", "forward", "backward", "pushed")
    return {
        **{key: record[key] for key in (*kept, *spans)},
        "what": "iteration",
        "iteration": last,
        "iterations": 10,
        **{
            f"predicted_{key}": expected[f"t_{key}"] for key in ("forward", "backward", "iteration")
        },
    }


def _plan(first: int, schedule: Any) -> IterationPlan:
    costs, link = _costs(LAYERS), LinkEstimate(SETUP, 1e-6)
    return IterationPlan(first, schedule.kind, cut(schedule, costs), costs, link, link, REST)


def _costs(times: dict[str, tuple[float, ...]]) -> LayerCosts:
    return LayerCosts(**times, pull_setup=SETUP, push_setup=SETUP)


def _jittered(times: tuple[float, ...], random: Random) -> list[float]:
    return [time * random.uniform(0.9, 1.1) for time in times]
