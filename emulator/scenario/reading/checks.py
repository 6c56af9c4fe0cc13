"""Checks across several keys: repeated names, faults without a target, parts that do not fit.

These are mistakes of the file alone, found as it is read, with their lines; `checks/preflight.py`
has the checks of a sound scenario. The checks read the plain data and ignore values that cannot be
read, so their mistakes are reported together with the mistakes in single values.
"""

from collections.abc import Iterator

from pydantic import TypeAdapter

from ...codecs import refusal, uncuttable
from ...errors import counted
from ...learning.datasets.split import BY_CLASS
from ...learning.models import MODELS
from ...learning.models.layer_table import NO_TIME, repeated_names
from ...schedules import AnySchedule, Sequential
from ...synchronization import AnySynchronization, ComputeGroups, FedAvg, LocalSGD, Softsync
from ...world.stop_conditions import CONDITIONS
from ..sections.devices import MOST_DEVICES, device_names
from ..sections.training_section import (
    ScheduleField,
    TrainingSection,
)
from .data_and_model_files import known_data, known_model
from .document import Document
from .fault_checks import check_faults
from .link_checks import check_bottlenecks
from .network_reading import check_network
from .plugin_files import readable
from .shard_checks import check_shards
from .training_checks import (
    CODEC,
    SYNCHRONIZATION,
    check_aggregation,
    check_cut,
    check_measure,
    check_own_model,
)
from .workload_checks import check_workload

_SCHEDULE: TypeAdapter[AnySchedule] = TypeAdapter(ScheduleField)


def check(document: Document) -> None:
    """Add to `document` the mistakes of all checks in this module."""
    check_workload(document)
    _stop_is_measured_in_time(document)
    _model_fits(document)
    check_own_model(document)
    _split_fits(document)
    _feedback_fits(document)
    _schedule_fits(document)
    check_cut(document)
    check_shards(document)
    _table_holds(document)
    check_measure(document)
    _shares_fit(document)
    groups = list(_groups(document))
    known = not _devices_unknown(document)
    check_aggregation(document, sum(len(names) for *_, names in groups) if known else None)
    _one_name_each(document, groups)
    _steps_have_gradients(document, groups)
    _compute_groups_fit(document, groups)
    check_bottlenecks(document, groups)
    check_network(document, groups)
    check_faults(document, groups)


def _stop_is_measured_in_time(document: Document) -> None:
    if document.at(("evaluate", "when")) != "after":
        return
    for key, condition in CONDITIONS.items():
        if condition.measured_later and document.at(("stop", key)) is not None:
            document.complain(("stop", key), condition.measured_later)


def _model_fits(document: Document) -> None:
    data, network = known_data(document), known_model(document)
    if data is None or network is None:
        return
    has, takes, model = data.task, network.task, document.at(("training", "model"))
    if not takes.takes(has):
        fitting = [name for name, known in MODELS.items() if known.task.takes(has)]
        remedy = f"use {' or '.join(fitting)}" if fitting else "no model that is shipped takes it"
        document.complain(
            ("training", "model"),
            f"{model!r} takes {takes}; {data.name!r} has {has}: {'; '.join([remedy, *data.notes])}",
        )


def _split_fits(document: Document) -> None:
    split = document.at(("training", "split"))
    kind = split.get("kind") if isinstance(split, dict) else split
    if (data := known_data(document)) is None:
        return
    if data.task.answers and kind in BY_CLASS:
        document.complain(
            ("training", "split"),
            f"{kind!r} needs classes, and the examples of {data.name!r} have none: use iid",
        )


def _feedback_fits(document: Document) -> None:
    """Check that error feedback stands beside a codec without error feedback."""
    if document.at(("training", "error_feedback")) is not True:
        return
    codec = readable(CODEC, document.at(("training", "codec")))
    if codec is not None and (reason := refusal(codec)):
        document.complain(("training", "error_feedback"), f"{codec.kind!r}: {reason}")


def _table_holds(document: Document) -> None:
    """Check a layer table as a whole, and that a `virtual.step` is given.

    pydantic looks at the whole table only if no layer has a mistake, and then reports it at
    `training.model`.
    """
    model, step = ("training", "model"), ("virtual", "step")
    layers = document.at((*model, "layers"))
    if not isinstance(layers, list) or document.has_mistake(model):
        return
    rows = [layer if isinstance(layer, dict) else {} for layer in layers]
    for index, message in repeated_names([row.get("name") for row in rows]):
        document.complain((*model, "layers", index, "name"), message)
    if all(row.get("multiply_adds") == 0 for row in rows):
        document.complain((*model, "layers"), NO_TIME)
    if document.at(step) is None and not document.has_mistake(step):
        name = document.at((*model, "name"))
        document.complain(
            step,
            f"is missing: {name!r} is a layer table, and calibration cannot measure it: write the "
            "time of a mini-batch, for example 500ms",
        )


def _shares_fit(document: Document) -> None:
    """Check that `virtual.layers` has a share for every layer of the model."""
    model, table = (document.at(("training", *keys)) for keys in (("model",), ("model", "layers")))
    if (network := known_model(document)) is not None:
        layers = len(network.layout.layers)
    elif isinstance(table, list):
        model, layers = model.get("name"), len(table)
    else:
        return
    for phase in ("forward", "backward"):
        shares = document.at(("virtual", "layers", phase))
        if isinstance(shares, list) and shares and len(shares) != layers:
            document.complain(
                ("virtual", "layers", phase),
                f"{counted(len(shares), 'layer')}, and {model!r} has {layers}: give the time of "
                "each layer",
            )


def _schedule_fits(document: Document) -> None:
    """Check that pulls and pushes can be cut as `training.schedule` asks."""
    address = ("training", "schedule")
    schedule = readable(_SCHEDULE, document.at(address))
    if schedule is None or schedule == Sequential():
        return
    codec = readable(CODEC, document.at(("training", "codec")))
    if codec is not None and (reason := uncuttable(codec)):
        document.complain(
            address,
            f"{schedule.kind!r} sends an update in pieces, and {codec.kind!r} cannot encode "
            f"pieces: {reason}, or use sequential",
        )
    rounds = readable(SYNCHRONIZATION, document.at(("training", "synchronization")))
    if rounds is not None and (work := _local_work(rounds)):
        document.complain(
            address,
            f"{schedule.kind!r} sends the gradient of each layer as soon as it is computed, and "
            f"{rounds.kind!r} sends a sum of gradients over {work}: use sequential, or another "
            "synchronization",
        )


def _local_work(synchronization: AnySynchronization) -> str:
    """Return the number of mini-batches of an update in words; empty for a single mini-batch."""
    match synchronization:
        case FedAvg():
            return f"{synchronization.epochs} epochs" if synchronization.epochs > 1 else "an epoch"
        case LocalSGD() if synchronization.steps > 1:
            return f"{synchronization.steps} mini-batches"
    return ""


def _groups(document: Document) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield index, name and device names of each group with a readable name and count."""
    for index, _ in enumerate(document.entries(("devices",))):
        name = document.at(("devices", index, "name"))
        count = document.at(("devices", index, "count"))
        if not isinstance(name, str):
            continue
        whole = isinstance(count, int) and not isinstance(count, bool)
        valid = whole and 0 < count <= MOST_DEVICES
        yield index, name, device_names(name, count if valid else None)


def _one_name_each(document: Document, groups: list[tuple[int, str, tuple[str, ...]]]) -> None:
    owner: dict[str, int] = {}
    for index, name, devices in groups:
        taken = next((used for used in (name, *devices) if used in owner), None)
        if taken is not None:
            document.complain(
                ("devices", index, "name"),
                f"{taken!r} is the name of devices[{owner[taken]}] too: choose another name",
            )
        for used in (name, *devices):
            owner.setdefault(used, index)


def _steps_have_gradients(
    document: Document, groups: list[tuple[int, str, tuple[str, ...]]]
) -> None:
    """Check that softsync's `splits` (n in the paper) is at most the number of devices (λ)."""
    policy = readable(SYNCHRONIZATION, document.at(("training", "synchronization")))
    devices = sum(len(devices) for _, _, devices in groups)
    if not isinstance(policy, Softsync) or _devices_unknown(document):
        return
    if policy.splits > devices:
        document.complain(
            ("training", "synchronization", "splits"),
            f"{policy.splits} steps need a gradient each, and there are {devices} devices: "
            f"write {devices} or less",
        )


def _compute_groups_fit(document: Document, groups: list[tuple[int, str, tuple[str, ...]]]) -> None:
    """Check that every compute group has a device, and every device an example."""
    address = ("training", "synchronization")
    policy = readable(SYNCHRONIZATION, document.at(address))
    if not isinstance(policy, ComputeGroups) or _devices_unknown(document):
        return
    devices = sum(len(devices) for _, _, devices in groups)
    if policy.groups > devices:
        document.complain(
            (*address, "groups"),
            f"{policy.groups} groups need a device each, and there are {devices} devices: "
            f"write {devices} or less",
        )
        return
    written = document.at(("training", "batch_size"))
    size = TrainingSection.model_fields["batch_size"].default if written is None else written
    members = -(-devices // policy.groups)
    if isinstance(size, int) and 0 < size < members:
        document.complain(
            ("training", "batch_size"),
            f"a mini-batch of {size} examples cannot be dealt over the {members} devices of a "
            f"group: write {members} or more, or more groups",
        )


def _devices_unknown(document: Document) -> bool:
    """Return whether a mistake in the devices leaves their number unknown."""
    return any(mistake.mark.address[:1] == ("devices",) for mistake in document.mistakes)
