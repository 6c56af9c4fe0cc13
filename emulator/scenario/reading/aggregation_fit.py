"""Checks of `training.aggregation`: whether steps have gradients enough for it."""

from pydantic import TypeAdapter

from ...aggregation import AnyAggregation, Krum, Mean, MultiKrum
from ...synchronization import (
    AnySynchronization,
    Asynchronous,
    Bounded,
    ComputeGroups,
    FedAvg,
    LocalSGD,
)
from ...synchronization.barrier import Barrier
from ...synchronization.rounds import clients_per_round
from ...synchronization.softsync import Softsync
from ..sections.training_section import AggregationField, SynchronizationField
from .document import Document
from .plugin_files import readable

KEY = ("training", "aggregation")

_AGGREGATION: TypeAdapter[AnyAggregation] = TypeAdapter(AggregationField)
_SYNCHRONIZATION: TypeAdapter[AnySynchronization] = TypeAdapter(SynchronizationField)


def check_aggregation(document: Document, devices: int | None) -> None:
    """Add to `document` the reasons against the chosen aggregation.

    `devices` is the number of devices, None if a mistake hides it. Values that cannot be read are
    ignored here: pydantic reports them.
    """
    training = document.at(("training",))
    if not isinstance(training, dict) or training.get("aggregation") is None:
        return
    chosen = readable(_AGGREGATION, training["aggregation"])
    written = training.get("synchronization")
    policy = Asynchronous() if written is None else readable(_SYNCHRONIZATION, written)
    if chosen is None or policy is None or chosen == Mean():
        return
    if training.get("fully_connected") is not None:
        document.complain(
            KEY,
            f"{chosen.kind!r} does not go with fully_connected: the server's layers learn from "
            "activations, whose lies no aggregation of gradients withstands: use mean",
        )
    if devices is None:
        return
    gradients = gradients_of_a_step(policy, devices)
    if gradients is None:
        return
    if gradients == 1 and not chosen.single:
        document.complain(
            KEY,
            f"{chosen.kind!r} chooses among the gradients of a step, and with {policy.kind!r} "
            "and these devices a step has one: use barrier, softsync, groups or fedavg",
        )
    elif isinstance(chosen, Krum | MultiKrum) and gradients < chosen.least:
        most = max(0, (gradients - 3) // 2)
        remedy = f"write {most} or less" if most else "5 gradients withstand one"
        document.complain(
            (*KEY, "liars"),
            f"{chosen.liars} liars need steps of {chosen.least} gradients (2 · liars + 3), and "
            f"here a step has {gradients}: {remedy}",
        )


def gradients_of_a_step(policy: AnySynchronization, devices: int) -> int | None:
    """Return the number of gradients of a step with all of the `devices` present.

    None: only the synchronization of a user knows.
    """
    match policy:
        case Asynchronous() | Bounded():
            return 1
        case Softsync():
            return max(1, devices // policy.splits)
        case ComputeGroups():
            return max(1, devices // policy.groups)
        case Barrier():
            return policy.needed(devices)
        case FedAvg() | LocalSGD():
            return clients_per_round(policy.clients, devices)
    return None
