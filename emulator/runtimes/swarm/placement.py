"""Decides which host each device of a scenario runs on. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...errors import HostError
from ...scenario import Device, Scenario, demand
from ...scenario.cores_and_memory import worker_memory


@dataclass(frozen=True)
class HostRoom:
    """A host on which devices may run."""

    name: str
    cores: float
    memory: int
    """Bytes that devices may have."""
    label: str = ""
    """The label `emulate.host` of the swarm's node: devices of the same `host` run there."""


def place(scenario: Scenario, places: Sequence[HostRoom]) -> Mapping[str, str]:
    """Return the name of the host of each device of `scenario`.

    The first of `places` has the server and the evaluator, too. The devices fill the hosts evenly:
    each goes where the largest share of the cores is left, counted by the devices' CPU quotas, and
    where its memory fits. Raises HostError with all devices that fit nowhere.
    """
    needs, need = demand(scenario), worker_memory(scenario)
    taken = dict.fromkeys((each.name for each in places), 0.0)
    memory = {each.name: each.memory for each in places}
    taken[places[0].name] = 1.0
    memory[places[0].name] -= needs.server_limit + needs.evaluator_limit
    placed: dict[str, str] = {}
    homeless: list[str] = []
    for device in scenario.nodes:
        wanted = min(device.memory, need)
        fitting = [each for each in places if _may(device, each) and memory[each.name] >= wanted]
        if not fitting:
            homeless.append(_words(device, places, wanted))
            continue
        best = min(fitting, key=lambda each: (taken[each.name] + _cores(device)) / each.cores)
        placed[device.name] = best.name
        taken[best.name] += _cores(device)
        memory[best.name] -= wanted
    if homeless:
        raise HostError("\n".join(homeless))
    return placed


def _may(device: Device, place: HostRoom) -> bool:
    return device.host is None or device.host in (place.name, place.label)


def _cores(device: Device) -> float:
    return 1.0 if device.cpu is None else device.cpu


def _words(device: Device, places: Sequence[HostRoom], wanted: int) -> str:
    if not any(_may(device, each) for each in places):
        names = {word for each in places for word in (each.name, each.label) if word}
        known = ", ".join(sorted(names))
        return (
            f"{device.name}: no host of the swarm has the name or the label `emulate.host` "
            f"{device.host!r}: there are {known}"
        )
    return f"{device.name}: no host has {wanted / 2**20:.0f} MiB of memory left for it"
