"""Checks of this host: its system, cores, memory and disk, against the needs of a scenario."""

import math
import os
from collections.abc import Iterable, Iterator

from ..costs.computing_times import layers_known, times_known
from ..costs.host_dilation import STEPS, CoreDemand, core_demand, too_few
from ..costs.host_limits import CHECKED, HostTables
from ..errors import HostError
from ..learning.learners.export import tensorflow_version
from ..learning.models import OwnModel
from ..log.verdicts.host_shortage import OFTEN, SUBJECT
from ..machine import kernel
from ..machine.host import lacks_containers
from ..scenario import Demand, Scenario
from ..scenario.cores_and_memory import LEAST_QUOTA, worker_memory
from ..scenario.reading.document import place
from ..scenario.sections.run_sections import MOST_DILATION
from ..schedules import Sequential
from ..units import Bytes, Share
from ..world.faults.slow import Slow
from .finding import Finding, HostCapacity, Severity, Situation, raised, refusal

RESOURCES = ("memory", "cpu", "disk", *(need.name for need in CHECKED))
"""Places of the findings on resources that are short."""

TOLERANCE = 0.1
"""Largest share by which the memory of a worker is from that of `emulate model`."""


def containers_here() -> list[Finding]:
    """Refuse a run in containers on a system that cannot start containers."""
    why = lacks_containers()
    return [Finding("error", "", why, HostError)] if why else []


def congestion_control(scenario: Scenario) -> Iterator[Finding]:
    """Refuse a congestion control that this host's kernel does not give to containers."""
    if scenario.tcp is not None and (why := kernel.congestion_refusal(scenario.tcp.congestion)):
        yield refusal("tcp.congestion", why, HostError)


def quotas(scenario: Scenario) -> Iterator[Finding]:
    """Refuse CPU quotas above the cores of the machine, and those too small to be kept.

    The dilation of `scenario` must be known.
    """
    # cores of the machine, not those that this process may use: the engine compares with them
    cores = os.cpu_count() or 1
    for number, group in enumerate(scenario.devices):
        cpu = group.profile.cpu if group.profile else None
        if cpu is not None and cpu > cores:
            why = (
                f"{cpu} is more than the {Share(cores)} that this host has, and Docker refuses "
                "such a quota: write less, or leave it out"
            )
            yield refusal(f"devices[{number}].profile.cpu", why, HostError)
        elif cpu is not None and cpu / scenario.dilation < LEAST_QUOTA:
            yield refusal(f"devices[{number}].profile.cpu", _too_small(scenario, cpu))
    shares = {device.name: float(device.cpu or 1.0) for device in scenario.nodes}
    for entry in scenario.targets_of_faults.entries():
        if isinstance(entry.fault, Slow) and entry.names:
            core = min(shares[name] for name in entry.names)
            slowed = core * float(entry.fault.factor)
            if slowed / scenario.dilation < LEAST_QUOTA <= core / scenario.dilation:
                yield refusal(f"{place(entry.place)}.factor", _too_small(scenario, slowed))


def _too_small(scenario: Scenario, cpu: float) -> str:
    """Return why a quota of `cpu` cores cannot be kept at the scenario's dilation."""
    dilation, most = scenario.dilation, math.floor(round(cpu / LEAST_QUOTA, 6))
    own = f"{cpu:.3g} of a core{'' if dilation == 1 else f' at a dilation of {dilation:g}'}"
    remedy = f", or a dilation of {most} at most" if 1 <= most < dilation else ""
    return (
        f"{own} is less than {LEAST_QUOTA:g} of a core, the smallest quota of a container, so "
        f"devices would be faster than asked for: write a larger share{remedy}"
    )


def tensorflow_here(situation: Situation) -> Iterator[Finding]:
    """Refuse a run that trains or measures on a host without TensorFlow."""
    scenario = situation.scenario
    if situation.on == "docker" or scenario.virtual.learner == "tensorflow":
        yield from raised(tensorflow_version, HostError)
    elif not (times_known(scenario) and layers_known(scenario)):
        given = "virtual.step and virtual.boot"
        if scenario.training.cutting != Sequential():
            given = "virtual.step, virtual.boot and virtual.layers"
        for found in raised(tensorflow_version, HostError):
            yield Finding("error", "", f"{found}; with {given} nothing is measured", HostError)


def shortfalls(demand: Demand, capacity: HostCapacity) -> list[Finding]:
    """Tell of which resources the host has too little, errors first."""
    return [*_errors(demand, capacity), *_warnings(demand, capacity)]


def _errors(demand: Demand, host: HostCapacity) -> list[Finding]:
    texts = []
    if demand.largest > host.memory:
        texts.append(
            f"memory: one device may take {_memory(demand.largest)}, more than the "
            f"{_memory(host.memory)} that this host has available: lower its profile's memory"
        )
    if demand.memory > host.memory:
        texts.append(
            f"memory: the run needs about {_memory(demand.memory)}, this host has "
            f"{_memory(host.memory)} available: use fewer devices or a larger host"
        )
    return [Finding("error", text.partition(":")[0], text, HostError) for text in texts]


def _warnings(demand: Demand, host: HostCapacity) -> list[Finding]:
    texts = []
    cores = demand.cores + demand.server_cores
    if demand.cores and cores > host.cores * host.dilation:
        passes = ", with one for the server's layers" if demand.server_cores else ""
        texts.append(
            f"cpu: the devices' quotas add up to {cores:g} cores{passes}, "
            f"{cores / host.cores:.1f} times the {host.cores:g} cores of this host"
            f"{'' if host.dilation == 1 else f' at a dilation of {host.dilation:g}'}, so "
            "devices will be slower than their profiles say: lower the shares or use fewer devices"
        )
    if demand.limits > host.memory >= demand.memory:
        texts.append(
            f"memory: the devices' limits add up to {_memory(demand.limits)}, this host has "
            f"{_memory(host.memory)} available: enough for workers of the measured size, not "
            "for devices that fill their limits"
        )
    if demand.kept > host.disk:
        texts.append(
            f"disk: the versions of the model that are kept for a measurement after the run take "
            f"{_memory(demand.kept)}, and {_memory(host.disk)} are free here: measure less often "
            "(evaluate.every), write evaluate.when during, or name a larger disk with --runs"
        )
    return [Finding("warning", text.partition(":")[0], text) for text in texts]


def full_tables(tables: Iterable[HostTables]) -> Iterator[Finding]:
    """Tell each table of a host that has too few entries for its part of the run, and the hosts
    whose tables are not known.

    It is an error if the table has too few even when all of them are free, and the need is certain.
    """
    for own in tables:
        for limit in own.limits:
            if short := limit.shortage(own.devices, own.others):
                never = limit.never_carries(own.devices, own.others)
                severity: Severity = "error" if never else "warning"
                yield Finding(severity, limit.need.name, short, HostError)
        if own.wanted > own.cores:
            times = f"{own.wanted / own.cores:.1f} times the {own.cores:g} cores of that host"
            why = (
                f"cpu: the CPU quotas at host {own.host} add up to {own.wanted:g} cores, {times}, "
                "so devices will be slower than their profiles say: place fewer devices there"
            )
            yield Finding("warning", "cpu", why)
        if own.unknown:
            yield Finding("note", "hosts", f"host {own.host}: not judged: {own.unknown}")


def small_devices(scenario: Scenario) -> list[Finding]:
    """Tell each memory limit below the measured need of an own model: an error if a worker would be
    killed even with a need that is by `TOLERANCE` less."""
    network = scenario.training.network if isinstance(scenario.training.model, str) else None
    if not isinstance(network, OwnModel) or network.memory is None:
        return []
    need = worker_memory(scenario)
    small: dict[int, str] = {}
    for device in scenario.nodes:
        if device.memory < need:
            small.setdefault(device.memory, device.name)
    return [
        Finding(
            "error" if limit < (1 - TOLERANCE) * need else "warning",
            "memory",
            f"memory: {name} has a limit of {_memory(limit)}, and a device needs "
            f"{_memory(need)} with mini-batches of {scenario.training.batch_size}, as "
            "emulate model measured: raise its profile's memory, or lower training.batch_size",
            HostError,
        )
        for limit, name in small.items()
    ]


def too_fast(scenario: Scenario, cores: float) -> list[Finding]:
    """Warn if the devices of `scenario` need a slower world on `cores` cores.

    Its dilation must be known.
    """
    wanted, dilation = core_demand(scenario), scenario.dilation
    needed = wanted.needed(cores)
    if needed <= dilation or not too_few(scenario, wanted, dilation * cores):
        return []
    return [
        Finding(
            "warning",
            "time.dilation",
            f"time: {wanted.who} want {wanted.words}, as far as their {wanted.source} tell, so "
            f"they would be short of processor time. {_slower(wanted, cores)}",
        )
    ]


def _slower(wanted: CoreDemand, cores: float) -> str:
    """Return what a dilation does for `wanted` on `cores` cores, in a sentence."""
    needed = wanted.needed(cores)
    if needed > MOST_DILATION:
        return f"The largest dilation, {MOST_DILATION:g}, is too little for it: use fewer devices"
    return (
        f"This host needs a dilation of {needed:g} to keep up: write `time: {{dilation: "
        f"{needed:g}}}`, or `auto`, and the run takes as much longer"
    )


def tight(scenario: Scenario, cores: float) -> list[Finding]:
    """Note that `cores` cores may be too few for `scenario`, where `too_fast` does not warn.

    Its dilation must be known.
    """
    wanted, dilation = core_demand(scenario), scenario.dilation
    needed = wanted.needed(cores)
    if needed <= dilation or too_few(scenario, wanted, dilation * cores):
        return []
    whole, here = wanted.words, f"{cores:g} cores of this host"
    slowed = f", at a dilation of {dilation:g}" if dilation > 1 else ""
    if wanted.source == STEPS:
        known = f"{wanted.who} want about {whole} of the {here}{slowed}, as their steps tell"
        better = ""
    else:
        known = (
            f"devices and server want {whole} of the {here}{slowed} if all devices compute all the "
            "time, and less as far as they wait for their links"
        )
        better = "; `emulate calibrate FILE` measures steps, and this estimate becomes closer"
    room = f"`time: {{dilation: {needed:g}}}` leaves room"
    if needed > MOST_DILATION:
        room = f"No dilation, which is {MOST_DILATION:g} at most, leaves room"
    return [
        Finding(
            "note",
            "time.dilation",
            f"time: {known}. If {SUBJECT} are short of processor time for over {OFTEN:.0%} of the "
            f"time, the run is marked: the host did not keep up. {room}{better}",
        )
    ]


def _memory(size: float) -> str:
    unit = 1 << 30 if size >= 1 << 30 else 1 << 20
    return str(Bytes(round(size / unit, 1) * unit))
