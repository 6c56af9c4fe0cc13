"""The traits of a Docker engine that decide which runs it can keep: pure functions of documents.

The documents are the engine's answers to `info` and `version`, the warnings with which it creates a
container, and the report of the probe (`node/engine_probe.py`). An engine that cannot limit a
container creates the container all the same, without the limit and with a warning.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ....costs.host_limits import OWN_FILES
from ....scenario import Scenario, Timed
from ....scenario.sections.devices import MEMORY
from ....world.verbs import row

Document = Mapping[str, Any]

OTHER = (
    "choose an engine that runs as root on this machine (`docker context use default`, or "
    "DOCKER_HOST), or play the scenario with --on virtual"
)

PRESS = "press"
"""Verb by which a fault takes memory of a device."""

OLDEST = "1.41"
"""API of Docker 20.10, the oldest engine that is tried."""

GROUPS = "enable the kernel's control groups"
"""Remedy for limits that an engine cannot set; on a Raspberry Pi they are off by default."""


BOX_FILES = 4
"""Files that the box opens for a link: two TAP devices, a netlink socket and a connection."""
SERVER_FILES = 2
"""Files that the server opens for a device: libzmq's socket and a duplicate."""


@dataclass(frozen=True)
class Lack:
    """A limit of containers that an engine does not set."""

    flag: str
    """Key of the engine's `info` that is false without the limit."""
    words: str
    """The consequence for a run, as a clause."""
    breaks: str = ""
    """Name of the scenarios that the lack makes wrong: `quota`, `memory`; empty: none."""


LACKS = (
    Lack(
        "CpuCfsQuota", "it sets no CPU quotas, so devices with a `cpu` run at full speed", "quota"
    ),
    Lack("MemoryLimit", "it sets no memory limits, so no device has a `memory`", "memory"),
    Lack("SwapLimit", "it limits no swap, so a device may swap where its `memory` ends"),
    Lack("CPUShares", "it sets no CPU shares, so devices may slow the server and the box"),
    Lack("PidsLimit", "it limits no number of processes"),
)


def refusal(info: Document, version: Document) -> str:
    """Return why no run can be played on the engine of these documents; empty if runs can."""
    components = [str(part.get("Name", "")) for part in version.get("Components") or ()]
    if any("podman" in name.lower() for name in components):
        return (
            "this is podman's socket, which leaves containers a way to the host's ports and "
            f"ignores options of networks: use Docker: {OTHER}"
        )
    if "rootless" in _security(info):
        return (
            "this engine is rootless: the users of its containers are not those of this machine, "
            f"so nodes can neither read a run's secrets nor write its log: {OTHER}"
        )
    if info.get("OSType", "linux") != "linux":
        return f"this engine's containers are of {info['OSType']}: {OTHER}"
    if _numbers(version.get("ApiVersion", OLDEST)) < _numbers(OLDEST):
        return f"this is Docker {version.get('Version')}, and runs need 20.10 or newer: {OTHER}"
    return ""


def other_machine(image: Document, version: Document) -> str:
    """Return why containers of `image` cannot run on the engine of `version`; empty if they can.

    `image`: the engine's answer to `inspect` of the image.
    """
    made_for, machine = image.get("Architecture"), version.get("Arch")
    if made_for == machine:
        return ""
    return f"its machine is {machine}, and the image is for {made_for}: run `emulate images` there"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


def lacks(info: Document, warnings: Iterable[str] = ()) -> list[Lack]:
    """Return the limits that the engine does not set, by its `info` and its `warnings`.

    `warnings`: those with which it has created a container that has all limits.
    """
    found = [lack for lack in LACKS if info.get(lack.flag) is False]
    return found + [Lack("", f"it warns: {words}") for words in warnings if not found]


def unlimited(report: Document) -> list[Lack]:
    """Return the limits that the probe's container was given, and that its `report` lacks."""
    return [lack for lack in LACKS if lack.breaks and report.get(lack.breaks) is None]


def broken(lacks: Iterable[Lack], scenario: Scenario, timeline: Iterable[Timed]) -> Iterator[str]:
    """Yield the consequences of `lacks` that make a run of `scenario` wrong.

    `timeline`: the scenario's compiled schedule.
    """
    needs = {*_needs(scenario, timeline)}
    for lack in lacks:
        if lack.breaks in needs:
            yield f"{lack.words}, and this scenario needs the limit: {GROUPS}, or {OTHER}"


def files_needed(devices: int, links: int) -> int:
    """Return the files that a process of a run with this number of `devices` opens, at most.

    `links`: number of links that pass the box. The evaluator is a peer of the server, too.
    """
    return OWN_FILES + max(SERVER_FILES * (devices + 1), BOX_FILES * links)


def _needs(scenario: Scenario, timeline: Iterable[Timed]) -> Iterator[str]:
    """Yield the limits without which `scenario` is not played as written."""
    drawn = {hazard["begin"] for device in scenario.nodes for hazard in device.hazards}
    verbs = {row(name) for name in drawn | {timed.action.verb for timed in timeline}}
    quotas = any(device.cpu is not None for device in scenario.nodes)
    if quotas or scenario.dilation != 1 or any(verb.by == "engine" for verb in verbs):
        yield "quota"
    chosen = any(device.memory != int(MEMORY) for device in scenario.nodes)
    if chosen or any(verb.name == PRESS for verb in verbs):
        yield "memory"


def _security(info: Document) -> set[str]:
    """Return the names of the engine's security options, such as `rootless` and `selinux`."""
    options = (str(option) for option in info.get("SecurityOptions") or ())
    pairs = (part.split("=", 1) for option in options for part in option.split(","))
    return {pair[1] for pair in pairs if pair[0] == "name" and len(pair) == 2}
