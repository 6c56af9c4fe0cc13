"""Checks of faults across several keys: keys that do not fit together, and targets."""

from collections.abc import Iterable
from typing import Any

from ...errors import counted, shortened, suggestion
from ...schedules import Sequential
from ...world.faults import FAULTS
from ...world.faults.schedule import ALL, conflicts, is_episodic, is_given
from ...world.roles import SERVER
from ..model import Scenario
from ..sections.devices import RESERVED
from ..sections.server_section import NONE
from ..timeline.compiled import EpisodeDraws, horizon
from .document import Address, Document, place


def check_faults(document: Document, groups: list[tuple[int, str, tuple[str, ...]]]) -> None:
    """Add to `document` the mistakes of all checks in this module.

    `groups` has index, name and device names of each group.
    """
    known = list(dict.fromkeys(node for _, name, devices in groups for node in (name, *devices)))
    links = {str(each.get("name")): each for _, each in document.entries(_LINKS, dict)}
    for address, fault in document.entries(("faults",), dict):
        _keys_fit(document, address, fault, aimed=True)
        _targets_exist(document, address, fault, known, links)
        if "count" in fault:
            _enough_targets(document, address, fault, len(_named(fault.get("nodes"), groups)))
    bearers: dict[str, int] = {}
    for index, _, devices in groups:
        for _, profile in document.entries(("devices", index, "failures"), dict):
            name = str(profile.get("name"))
            bearers[name] = bearers.get(name, 0) + len(devices)
    for index, _, _ in groups:
        for address, profile in document.entries(("devices", index, "failures"), dict):
            for at, fault in document.entries((*address, "faults"), dict):
                _keys_fit(document, at, fault, aimed=False)
                _enough_targets(document, at, fault, bearers[str(profile.get("name"))])


def check_batteries(document: Document, scenario: Scenario) -> None:
    """Add a mistake to `document` if two faults of the valid `scenario` give a device a battery."""
    if (found := scenario.targets_of_faults.second_battery()) is None:
        return
    name, first, second = found
    file, line, *_ = document.mark(first)
    where = f"{place(first)} ({file}:{line})" if line else place(first)
    document.complain(
        second,
        f"gives {name} a second battery, beside that of {where}: a device has one: leave one of "
        "the two out, or name other devices",
    )


def _keys_fit(document: Document, address: Address, fault: dict[str, Any], *, aimed: bool) -> None:
    kind = fault.get("kind")
    if not isinstance(kind, str) or kind not in FAULTS:
        return
    given = [key for key, value in fault.items() if is_given(value)]
    always = getattr(FAULTS[kind], "always", False)
    episodic = is_episodic(FAULTS[kind])
    if fault.get("keeps") is not None:
        _state_is_whole(document, (*address, "keeps"))
    # a key with a mistake of its own, as a misspelt one, may be the one that seems to be missing
    broken = any(at[:-1] == address for at in document.broken)
    server = getattr(FAULTS[kind], "strikes_server", False)
    durability = ("server", "durability")
    unknown = document.has_mistake(durability)
    workload = document.at(("workload",)) is not None  # its server keeps its own files
    if server and aimed and not (unknown or workload) and document.at(durability) in (None, NONE):
        document.complain(
            (*address, "kind"),
            f"{kind!r} needs a durable server, as all updates would be lost, and the run with them:"
            " write server.durability: update, or {every: 30s} to lose the updates since then",
        )
    by_itself = getattr(FAULTS[kind], "by_itself", False)
    options = {"always": always, "episodic": episodic, "server": server, "by_itself": by_itself}
    for key, message in conflicts(given, aimed=aimed, **options):
        if key:
            document.complain((*address, key), message)
        elif not broken:
            document.complain(address, message)


def _state_is_whole(document: Document, address: Address) -> None:
    """Refuse to keep the state of devices that do not push whole models."""
    training = document.at(("training",))
    if not isinstance(training, dict):
        return
    if _several(document.at(("server", "shards"))):
        message = "the state is kept of devices that push to one server only: leave it out"
        document.complain(address, f"{message}, or server.shards")
    schedule, cut = training.get("schedule"), training.get("fully_connected")
    word = schedule.get("kind") if isinstance(schedule, dict) else schedule
    if cut is not None or word not in (None, Sequential.kind):
        key = "schedule" if cut is None else "fully_connected"
        message = "the state is kept of devices that pull and push whole models only: leave it out"
        document.complain(address, f"{message}, or training.{key}")


def _several(shards: Any) -> bool:
    return isinstance(shards, int) and shards > 1


def _names_links(kind: type | None) -> bool:
    """Return whether faults of `kind` may name links of the network."""
    return kind is not None and hasattr(kind, "strikes_links") and bool(kind.strikes_links)


_LINKS: Address = ("network", "links")


def _targets_exist(
    document: Document,
    address: Address,
    fault: dict[str, Any],
    known: list[str],
    links: dict[str, dict[str, Any]],
) -> None:
    """Check that the fault names devices, or `links` of the network if its kind strikes those."""
    nodes, kind = fault.get("nodes"), FAULTS.get(str(fault.get("kind")))
    able = _names_links(kind)
    if nodes == []:
        document.complain((*address, "nodes"), "is empty: name the devices that the fault strikes")
    for index, node in enumerate(nodes if isinstance(nodes, list) else ()):
        if not isinstance(node, str) or node in known:
            continue
        named = (*address, "nodes", index)
        if node not in links:
            document.complain(named, _unknown(node, [*known, *(links if able else ())]))
        elif not able:
            kinds = " and ".join(name for name, each in FAULTS.items() if _names_links(each))
            document.complain(named, f"{node!r} is a link: {kinds} strike links of the network")
        else:
            _link_fits(document, address, index, fault, links[node])


def _link_fits(
    document: Document,
    address: Address,
    index: int,
    fault: dict[str, Any],
    link: dict[str, Any],
) -> None:
    """Check that the keys of a fault say something of a link of the network, its node `index`."""
    name = shortened(link.get("name"))
    if fault.get("per_iteration") is not None:
        message = f"is drawn by devices, and {name} is a link: give `at` or `every` in its place"
        document.complain((*address, "per_iteration"), message)
    if fault.get("link") is not None:
        message = f"{name} is a link of the network, and `link` takes the place of devices' links"
        message += ": give `rate`, `delay` or `loss`"
        document.complain((*address, "nodes", index), message)
    sides = (link.get("up"), link.get("down"))
    rated = any(isinstance(side, dict) and side.get("rate") is not None for side in sides)
    if fault.get("rate") is not None and not rated:
        document.complain(
            (*address, "rate"), f"{name} has no rate of which a share could be left: give it one"
        )
    if str(fault.get("loss")).strip() in ("100%", "100.0%"):
        document.complain(
            (*address, "loss"), "all packets are lost: to cut a link, use a partition"
        )


def _unknown(node: str, known: list[str]) -> str:
    if node in RESERVED:
        server = ": `server-crash` strikes the server, without `nodes`" if node == SERVER else ""
        return f"{shortened(node)} is no device: faults strike devices only{server}"
    if node == ALL:
        return f"{shortened(node)} is no device: write nodes: {ALL} for all devices"
    some = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
    return f"{shortened(node)} is no device{suggestion(node, known) or ': there are ' + some}"


def _named(nodes: Any, groups: Iterable[tuple[int, str, tuple[str, ...]]]) -> set[str]:
    """Return the devices that `nodes` names: every device for `all`, or without `nodes`."""
    names = nodes if isinstance(nodes, list) else ()
    return {
        device
        for _, name, devices in groups
        for device in devices
        if nodes in (None, ALL) or name in names or device in names
    }


def _enough_targets(
    document: Document, address: Address, fault: dict[str, Any], targets: int
) -> None:
    count = fault.get("count")
    if isinstance(count, int) and not isinstance(count, bool) and count > targets > 0:
        document.complain(
            (*address, "count"),
            f"{counted(count, 'device')} of {targets}: write {targets} or less",
        )


def check_numbers(document: Document, scenario: Scenario) -> None:
    """Add a mistake to `document` for each entry of `scenario` that strikes a device too often.

    Draws the times of one device for each entry. Another device of the same entry may draw a few
    more: if these are too many, the compilation of the timeline says so.
    """
    draws = EpisodeDraws(scenario.seed, horizon(scenario))
    for entry in scenario.targets_of_faults.entries():
        for node in entry.names[:1]:
            try:
                for _ in draws.of(entry, node):
                    pass
            except ValueError as error:
                message = f"{node}: {error}: write longer times, or an earlier stop.time"
                document.complain(entry.place, message)
