"""Decides which host each device of a scenario runs on. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ...errors import HostError
from ...scenario import Device, Scenario, demand
from ...scenario.cores_and_memory import PORTS, worker_memory
from ...scenario.sections.server_section import HOST


@dataclass(frozen=True)
class HostRoom:
    """A host on which devices may run."""

    name: str
    cores: float
    memory: int
    """Bytes that devices may have."""
    ports: int = PORTS - 1
    """Containers that the run's network takes there: the ports of a bridge, one of which leads to
    the other hosts."""
    label: str = ""
    """The label `emulate.host` of the swarm's node: devices of the same `host` run there."""


def place(
    scenario: Scenario, places: Sequence[HostRoom], absent: Mapping[str, str] = MappingProxyType({})
) -> Mapping[str, str]:
    """Return the name of the host of each device of `scenario`.

    `absent` says why hosts have no device, by their names and labels.

    The first of `places` has the server and the evaluator, too. The devices fill the hosts evenly:
    each goes where the largest share of the cores is left, counted by the devices' CPU quotas, and
    where its memory fits and the run's network has a port. Raises HostError with all devices that
    fit nowhere.
    """
    needs, need = demand(scenario), worker_memory(scenario)
    taken = dict.fromkeys((each.name for each in places), 0.0)
    memory = {each.name: each.memory for each in places}
    taken[places[0].name] = 1.0
    memory[places[0].name] -= needs.server_limit + needs.evaluator_limit
    ports = {each.name: each.ports - (scenario.server.relay == HOST) for each in places}
    ports[places[0].name] = places[0].ports - (needs.ports - len(scenario.nodes))
    placed: dict[str, str] = {}
    homeless: list[str] = []
    for device in scenario.nodes:
        wanted = min(device.memory, need)
        allowed = [each for each in places if _may(device, each)]
        roomy = [each for each in allowed if memory[each.name] >= wanted]
        fitting = [each for each in roomy if ports[each.name] > 0]
        if not fitting:
            why = absent.get(device.host or "", "") if not allowed else ""
            words = _words(device, places, wanted, full=bool(roomy))
            homeless.append(f"{device.name}: its {why}" if why else words)
            continue
        best = min(fitting, key=lambda each: (taken[each.name] + _cores(device)) / each.cores)
        placed[device.name] = best.name
        taken[best.name] += _cores(device)
        memory[best.name] -= wanted
        ports[best.name] -= 1
    if homeless:
        raise HostError("\n".join(homeless))
    return placed


def _may(device: Device, place: HostRoom) -> bool:
    return device.host is None or device.host in (place.name, place.label)


def _cores(device: Device) -> float:
    return 1.0 if device.cpu is None else device.cpu


def _words(device: Device, places: Sequence[HostRoom], wanted: int, *, full: bool) -> str:
    """Return why `device` fits nowhere: with `full` only the run's network has no port for it."""
    if not any(_may(device, each) for each in places):
        names = {word for each in places for word in (each.name, each.label) if word}
        known = ", ".join(sorted(names))
        return (
            f"{device.name}: no host of the swarm has the name or the label `emulate.host` "
            f"{device.host!r}: there are {known}"
        )
    if full:
        return f"{device.name}: no host with memory for it has a port left on the run's network"
    return f"{device.name}: no host has {wanted / 2**20:.0f} MiB of memory left for it"
