"""Aggregations that withstand no liar while a device is in quarantine."""

from decimal import Decimal

from ..aggregation import Krum, MultiKrum, TrimmedMean
from ..scenario.demand import Shortfall
from ..scenario.model import Scenario
from ..scenario.reading.aggregation_fit import gradients_of_a_step
from ..synchronization import AnySynchronization, Barrier, ComputeGroups, Softsync

KEY = "training.aggregation"


def unguarded_quarantine(scenario: Scenario) -> list[Shortfall]:
    """Return a warning if the aggregation withstands liars only while all devices are heard.

    A device in quarantine sends no gradient, so a step may have one gradient less.
    """
    if scenario.server.quarantine is None:
        return []
    training, devices = scenario.training, len(scenario.nodes)
    all_heard = gradients_of_a_step(training.synchronization, devices)
    fewer = _with_one_fewer(training.synchronization, devices)
    if all_heard is None or fewer is None:
        return []
    match training.aggregation:
        case TrimmedMean(trim=trim):
            share = Decimal(repr(float(trim)))
            if not int(share * all_heard) or int(share * fewer):
                return []
            lost = (
                f"trim: {trim} leaves out nothing of the {fewer} gradients of a step while a "
                f"device is in quarantine, and {int(share * all_heard)} at each end of "
                f"{all_heard}: "
            )
            least = -(-100 // fewer) if fewer else 100
            remedy = f"write {least}% or more" if least < 50 else "have more devices"
        case Krum(liars=liars) | MultiKrum(liars=liars) as krum:
            if all_heard < krum.least or fewer >= krum.least:
                return []
            lost = (
                f"{liars} liars need steps of {krum.least} gradients (2 · liars + 3), and a step "
                f"has {fewer} while a device is in quarantine: "
            )
            remedy = f"write {liars - 1} liars" if liars > 1 else "have more devices"
        case _:
            return []
    return [Shortfall("warning", f"{KEY}: {lost}{remedy}")]


def _with_one_fewer(policy: AnySynchronization, devices: int) -> int | None:
    """Return the gradients of a step of `devices` of which one is in quarantine; None: unknown."""
    gradients = gradients_of_a_step(policy, devices)
    if gradients is None:
        return None
    match policy:
        case Barrier() | Softsync():
            return gradients_of_a_step(policy, devices - 1)
        case ComputeGroups():  # of the smallest group
            return gradients - 1
    return min(gradients, devices - 1)  # another device is drawn in its place, if there is one
