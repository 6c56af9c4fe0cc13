"""The tables of `emulate check`: the resolved scenario, its compute groups, its cut, its demand."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import groupby
from typing import Any

from rich.table import Table
from rich.text import Text

from ...core.sharding.server_shards import balanced_shards
from ...costs.compute_groups import compute_groups, dealt_batches
from ...costs.computing_times import known_time
from ...costs.cut_traffic import CutTraffic
from ...errors import counted
from ...machine.host import Host
from ...scenario import Scenario
from ...scenario.algorithms import flow
from ...scenario.cores_and_memory import BOOT, ENGINE, FORKED_BOOT, Demand
from ...scenario.overview import (
    BottleneckRow,
    DeviceRow,
    FaultRow,
    HazardRow,
    NetworkLinkRow,
    Overview,
    PathRow,
    describe_side,
)
from ...scenario.reading.dump import plain
from ...scenario.timeline.fault_plan import ANEW, AvailabilityRow
from ...units import Bytes, Fraction, Share, about
from ...world.links.bottleneck import SharedLink
from ...world.links.link import Link, Side
from ...world.stop_conditions import KNOWN
from ..output import console, table
from ..watching.progress import amount

MOST_ROWS = 40
"""Largest number of rows that a table shows; `--json` has all rows."""

_CHOSEN = (
    *("codec", "modulation", "synchronization", "optimizer", "error_feedback", "pull"),
    *("aggregation", "cutting", "split"),
)
"""Parts of `training` that are plugins; most plugins have parameters."""
_KEYS = {"cutting": "schedule"}
"""Keys of the parts that have another name."""


@dataclass(frozen=True)
class Findings:
    """The results of `emulate check` for a scenario on one runtime."""

    on: str
    """Runtime in words, for example `containers`."""
    refused: Sequence[str]
    """Reasons for which `emulate run` would refuse the scenario."""
    warned: Sequence[str]
    unkept: Sequence[str]
    """Keys that the runtime ignores, with the reasons."""
    notes: Sequence[str] = ()
    """Reasons for which the results may be distorted."""


def print_overview(
    scenario: Scenario,
    plan: Overview,
    made: Sequence[Table],
    chosen: Findings,
    other: Findings,
) -> None:
    """Print the `plan` of `scenario`, the tables `made`, the findings for the `chosen` runtime, and
    the refusals of the `other` runtime.
    """
    out = console()
    work = _training(scenario) if scenario.workload is None else _workload(scenario)
    out.print(Text(plan.name, "bold"), *work, sep="\n")
    out.print(f"server: {_link(plan.server)}{_shards(scenario)}\n")
    rows = list(_grouped(plan.devices))
    out.print(_devices(counted(len(plan.devices), "device"), rows), _more(rows))
    if plan.bottlenecks:
        out.print(_bottlenecks(plan.bottlenecks), _more(plan.bottlenecks))
    if plan.paths:
        out.print(_paths(plan.paths), _more(plan.paths))
        out.print(_network_links(plan.network), _more(plan.network))
    if plan.availability:
        out.print(availability_table(plan.availability), _more(plan.availability))
    if plan.faults:
        out.print(_faults(plan.faults), _more(plan.faults))
    if plan.hazards:
        out.print(_hazards(plan.hazards), _more(plan.hazards))
    for each in made:
        out.print(each, "")
    for line in chosen.unkept:
        out.print(Text("note", "yellow"), f"not kept in {chosen.on}: {line}", soft_wrap=True)
    for line in other.refused:
        out.print(Text("note", "yellow"), f"refused in {other.on}: {line}", soft_wrap=True)
    for line in chosen.notes:
        out.print(Text("note", "yellow"), line, soft_wrap=True)
    for line in chosen.refused:
        out.print(Text("error", "red"), line, soft_wrap=True)
    for line in chosen.warned:
        out.print(Text("warning", "yellow"), line, soft_wrap=True)
    if not chosen.refused and not chosen.warned:
        slower = ", perhaps not at full speed: see the note" if chosen.notes else ""
        out.print(Text("ok", "green"), f"this host can carry it{slower}")


def _shards(scenario: Scenario) -> str:
    """Return the layers and the parameters of each shard of the server in words; empty for one."""
    count = scenario.server.shards
    if count == 1:
        return ""
    layout = scenario.training.layout
    shards = balanced_shards(layout, count)
    held = (
        f"layers {first}-{last} ({share:.0%})"
        for (first, last), share in zip(shards.segments, shards.shares(layout), strict=True)
    )
    return f", of each of {count} shards: {', '.join(held)} of the parameters"


def _training(scenario: Scenario) -> Iterable[str]:
    training = scenario.training
    yield (
        f"{training.model_title} on {training.dataset}, batches of {training.batch_size}, "
        f"learning rate {training.learning_rate:g}, seed {scenario.seed}"
    )
    yield f"algorithm: {training.described}"
    for name in _CHOSEN:
        yield f"{_KEYS.get(name, name)}: {_chosen(getattr(training, name))}"
    if training.fully_connected:
        yield f"fully_connected: {flow(plain(training.fully_connected))}"
    ends = [KNOWN[key].phrase(limit) for key, limit in scenario.stop.limits.items()]
    every = f"measured every {scenario.evaluate.every} updates"
    yield f"until: {' or '.join(ends)}; {every}"
    if scenario.evaluate.later:
        size = amount(4 * scenario.training.layout.size)
        yield f"measured after the run in containers: until then each version is a file of {size}"


def _workload(scenario: Scenario) -> Iterable[str]:
    """Yield lines on the workload of `scenario`: its programs, and its end."""
    workload = scenario.workload
    assert workload is not None
    yield f"{workload.described}, seed {scenario.seed}"
    for key, what in workload.programs.items():
        command = what.command
        words = "the image's own command" if command is None else command
        yield f"{key}: {words if isinstance(words, str) else shlex.join(words)}"
    if workload.server.ready is not None:
        yield f"ready: {workload.server.ready}"
    ends = [KNOWN[key].phrase(limit) for key, limit in scenario.stop.limits.items()]
    yield f"until: {' or '.join(ends)}"


def _chosen(value: Any) -> str:
    """Return a plugin as YAML: kind and parameters, or the kind alone if it has no parameters."""
    written = plain(value)
    bare = isinstance(written, dict) and written.keys() == {"kind"}
    return str(written["kind"]) if bare else flow(written)


def _link(link: Link) -> str:
    if not link.shaped:
        return "unshaped"
    return f"up {describe_side(link.up)}, down {describe_side(link.down)}"


def _grouped(devices: Sequence[DeviceRow]) -> Iterable[DeviceRow]:
    """Yield a row for every sequence of neighbours in `devices` that differ by number only."""
    for _, equal in groupby(devices, key=lambda row: replace(row, name=_group(row.name))):
        rows = list(equal)
        first, last = rows[0].name, rows[-1].name
        name = first if len(rows) == 1 else f"{first} … {last}"
        yield replace(rows[0], name=name)


def _group(name: str) -> str:
    group, _, number = name.rpartition("-")
    return group if number.isdigit() else name


def _devices(title: str, rows: Sequence[DeviceRow]) -> Table:
    made = table(*[field.name for field in fields(DeviceRow)], title=title)
    for row in rows[:MOST_ROWS]:
        made.add_row(
            row.name,
            row.profile or "-",
            "no quota" if row.cpu is None else str(Share(row.cpu)),
            str(Bytes(row.memory)),
            describe_side(row.up),
            describe_side(row.down),
            ", ".join(row.failures) or "-",
        )
    return made


def _bottlenecks(rows: Sequence[BottleneckRow]) -> Table:
    made = table("bottleneck", "up", "down", "members", title=counted(len(rows), "bottleneck"))
    for row in rows[:MOST_ROWS]:
        sides = [describe_side(Side(side.rate, side.delay)) for side in (row.up, row.down)]
        made.add_row(row.name, *sides, spans(row.members))
    return made


def _paths(rows: Sequence[PathRow]) -> Table:
    """Return a table of the paths through the network: a path back that differs is shown, too."""
    made = table("router", "devices", "path", "up", "down", title="paths through the network")
    for row in rows[:MOST_ROWS]:
        path = " → ".join(row.up)
        if row.down != row.up[::-1]:
            path += f", and back {' → '.join(row.down)}"
        made.add_row(row.router, spans(row.devices), path, *_shared_sides(row.shared))
    return made


def _network_links(rows: Sequence[NetworkLinkRow]) -> Table:
    made = table("link", "up", "down", "devices", title=counted(len(rows), "link"))
    for row in rows[:MOST_ROWS]:
        sides = _shared_sides(SharedLink(row.up, row.down))
        made.add_row(row.name, *sides, spans(row.devices) if row.devices else "-")
    return made


def _shared_sides(shared: SharedLink) -> list[str]:
    return [describe_side(Side(side.rate, side.delay)) for side in (shared.up, shared.down)]


@dataclass(frozen=True)
class BatchRow:
    """Neighbours in a compute group with mini-batches of one size."""

    devices: tuple[str, ...]
    examples: int
    """Number of examples in the mini-batch of each device."""
    step: float | None
    """Mean seconds of a step on a whole core, from `virtual.step` or from this host's calibration;
    None: neither is known. Of a cut model, it is the time of both parts."""


@dataclass(frozen=True)
class GroupRow:
    """A compute group: number from 0, and members."""

    number: int
    batches: tuple[BatchRow, ...]

    def plain(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return asdict(self)


def compute_groups_table(rows: Sequence[GroupRow], *, cut: bool = False) -> Table:
    """Return a table of the members of each compute group, and of their mini-batches.

    The times of a `cut` model are those of both its parts.
    """
    title = counted(len(rows), "compute group")
    step = "a step of both parts, on a whole core" if cut else "a step on a whole core"
    made = table("group", "devices", "mini-batch", step, title=title)
    for row in rows[:MOST_ROWS]:
        number = str(row.number)
        for batch in row.batches:
            time = "-" if batch.step is None else about(batch.step)
            made.add_row(number, spans(batch.devices), str(batch.examples), time)
            number = ""
    if len(rows) > MOST_ROWS:
        made.add_row("…", f"{len(rows) - MOST_ROWS} more groups (--json shows all)")
    return made


def _hazards(rows: Sequence[HazardRow]) -> Table:
    made = table("node", "fault", "per_iteration", title="faults drawn by iteration")
    for row in rows[:MOST_ROWS]:
        made.add_row(row.node, row.fault, str(Fraction(row.per_iteration)))
    return made


def _faults(faults: Sequence[FaultRow]) -> Table:
    made = table("from", "until", "node", "fault", title="faults, as compiled from the seed")
    for row in faults[:MOST_ROWS]:
        until = "for good" if row.until is None else f"{row.until:.1f} s"
        made.add_row(f"{row.at:.1f} s", until, row.node, row.fault)
    return made


def availability_table(rows: Sequence[AvailabilityRow]) -> Table:
    """Return a table of the traces of availability that devices play."""
    made = table("device", "trace", "begins at", title="traces of availability")
    for row in rows[:MOST_ROWS]:
        begin = ANEW if row.start is None else f"{row.start:,.1f} s"
        made.add_row(row.node, row.trace, begin)
    return made


def _more(rows: Sequence[Any]) -> str:
    """Return the line after a table of `rows`: the number of rows left out, or a blank line."""
    return f"… {len(rows) - MOST_ROWS} more (--json shows all)\n" if len(rows) > MOST_ROWS else ""


def demand_table(
    wanted: Demand,
    host: Host,
    limits: Iterable[Mapping[str, Any]],
    disk: float,
    startup: float,
    dilation: Mapping[str, Any],
) -> Table:
    """Return a table of the containers' demand beside the host's resources.

    `limits`: those of the host's tables, as `HostLimit.plain` writes them. `disk`: bytes that are
    free where runs are written. `startup`: a lower bound, in seconds, on the time until all devices
    have said hello. `dilation` has the `needed` and the `taken` one, and the former's `source`.
    """
    made = table("", "needed", "this host has", title="demand")
    free = f", {counted(wanted.unlimited, 'device')} without a quota" if wanted.unlimited else ""
    passes = ", and a core for the server's layers" if wanted.server_cores else ""
    cores = f"{wanted.cores:g} core{'' if wanted.cores == 1 else 's'}"
    made.add_row("cpu", f"{cores} for the devices{free}{passes}", counted(host.cores, "core"))
    memory = f"about {_gib(wanted.memory)}, with {_mib(wanted.server)} for the server"
    if not wanted.server_limit:  # of a workload, whose programs take what they take
        memory = f"about {_mib(wanted.memory)} beside the programs"
    made.add_row("memory", memory, f"{_gib(host.available)} available")
    made.add_row(
        "memory limits",
        (
            f"server {_mib(wanted.server_limit)}, evaluator {_mib(wanted.evaluator_limit)}, "
            if wanted.server_limit
            else ""
        )
        + f"devices {_gib(wanted.limits)} together",
        "",
    )
    for limit in limits:
        used = f", {limit['used']:,} in use" if limit["used"] else ""
        made.add_row(limit["name"], f"{limit['needed']:,}", f"{limit['limit']:,}{used}")
    if wanted.kept:
        kept = f"{amount(wanted.kept)} for versions that are measured after the run"
        made.add_row("disk", kept, f"{amount(disk)} free here")
    each = f"{wanted.ports} containers, {ENGINE + BOOT:.1f} s of a core each"
    if wanted.forked:
        forked = counted(wanted.forked, "forked worker")
        each += f", {ENGINE + FORKED_BOOT:.2f} s with each of {forked}"
    taken = dilation["taken"]
    at_most = dilation["source"] == "quotas" and dilation["needed"] > 1
    made.add_row(
        "dilation",
        f"{'at most ' if at_most else ''}{dilation['needed']:g} for this host's cores",
        f"plays with {taken:g}" + (f": 60 s take {60 * taken:g} s" if taken > 1 else ""),
    )
    made.add_row("start-up", each, f"at least {startup:.0f} s until all devices say hello")
    return made


def _mib(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"


def group_rows(scenario: Scenario) -> list[GroupRow]:
    """Return a row for each compute group of `scenario`; [] without groups."""
    sizes = dealt_batches(scenario)
    times = {size: known_time(scenario, size) for size in set(sizes.values())}
    return [
        GroupRow(
            number,
            tuple(
                BatchRow(tuple(names), examples, times[examples])
                for examples, names in groupby(group, key=sizes.__getitem__)
            ),
        )
        for number, group in enumerate(compute_groups(scenario))
    ]


def spans(names: Sequence[str]) -> str:
    """Return `names` in words, sequences of numbers shortened: `a-0 … a-3, b`."""
    words = []
    # neighbours whose number rises by one belong together: number - position is constant
    for _, run in groupby(enumerate(names), key=lambda item: _series(item[1], item[0])):
        members = [name for _, name in run]
        many = len(members) > 2
        words += [f"{members[0]} … {members[-1]}"] if many else members
    return ", ".join(words)


def _series(name: str, position: int) -> tuple[str, int | None]:
    """Return a key that neighbours with the same name and rising numbers share."""
    group, _, number = name.rpartition("-")
    if not number.isdigit():
        return name, None
    return group, int(number) - position


def cut_table(traffic: CutTraffic) -> Table:
    """Return a table of the bytes of a device's update, with the calculations."""
    made = table("bytes of an update", "up", "down", title=_title(traffic))
    sizes, rows, device = traffic.sizes, traffic.rows, traffic.device
    values = f"{rows:,} · {traffic.crossing:,} · {traffic.width} = {sizes.activations:,}"
    made.add_row("activations, and their gradient", values, values)
    if sizes.labels:
        made.add_row("labels", f"{sizes.labels // 4:,} · 4 = {sizes.labels:,}", "")
    if sizes.logits:
        outputs = f"{sizes.logits // 4:,} · 4 = {sizes.logits:,}"
        made.add_row("outputs down, their gradient up", outputs, outputs)
    push, pull = (_product(device.parameters, size) for size in (device.push, device.pull))
    made.add_row("push, and pull", push, pull)
    made.add_row("together", f"{traffic.up:,}", f"{traffic.down:,}")
    for update in traffic.smaller:
        made.add_row(
            f"with {counted(update.rows, 'example')}", f"{update.up:,}", f"{update.down:,}"
        )
    whole = traffic.whole
    made.add_row("without the cut", f"{whole.push:,}", f"{whole.pull:,}")
    made.add_row("share", _share(traffic.up, whole.push), _share(traffic.down, whole.pull))
    return made


def _title(traffic: CutTraffic) -> str:
    return (
        f"cut behind {traffic.name}, layer {traffic.layer} of {traffic.layers}: devices hold "
        f"{traffic.device.parameters:,} parameters, the server {traffic.server_parameters:,}"
    )


def _product(parameters: int, size: int) -> str:
    """Return `size` in bytes as a product with the number of `parameters`, if it is a multiple."""
    width, rest = divmod(size, parameters)
    return f"about {size:,}" if rest or not width else f"{parameters:,} · {width} = {size:,}"


def _share(size: int, whole: int) -> str:
    return f"{size / whole:.1%}"
