"""The network of a scenario while its file is read: topologies of other files, and checks."""

import json
import re
import unicodedata
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from ...errors import shortened, suggestion
from ...plugins.plain_files import read_plain
from ...units import Rate, Seconds, about
from ...world.links.bottleneck import SharedLink
from ...world.links.network_routes import connected
from ..sections.devices import DeviceNames, device_name
from ..sections.network_section import MOST_ROUTERS
from .document import Address, Document, place

_PLACE: Address = ("network",)
_SOURCES = ("routers", "file", "topohub")
_NEEDS = "needs the package {}: pip install 'edge-emulate[networks]'"

KM_A_SECOND = 200_000.0
"""Speed of light in glass fibre, by which lengths become delays."""


class _Topology(NamedTuple):
    """Routers by their names in the source, and edges: two routers, and what the source says."""

    routers: list[str]
    edges: list[tuple[str, str, Mapping[str, Any]]]


def find_network(document: Document, folder: Path) -> None:
    """Put the routers and links of `network.file` or `network.topohub` in the key's place, and name
    the links that have no name.

    The path counts from the scenario's `folder`, or as `Document.folder` says. Adds the mistakes to
    `document`.
    """
    given = document.at(_PLACE)
    if not isinstance(given, dict):
        return
    written = [key for key in _SOURCES if given.get(key) is not None]
    if len(written) != 1:
        found = " and ".join(written) or "none"
        document.complain(_PLACE, f"write one of routers, file and topohub ({found} found)")
        return
    (source,) = written
    if source == "routers":
        if given.get("link") is not None:
            document.complain((*_PLACE, "link"), "is of file and topohub: write up and down there")
    elif isinstance(given[source], str):
        if given.get("links") is not None:
            document.complain((*_PLACE, "links"), f"stands beside {source}, which has the links")
        read = _graphml if source == "file" else _hub
        try:
            topology = read(document, folder, given[source])
            routers, links = _spelled(topology, given.get("link"))
        except ValueError as error:
            document.complain((*_PLACE, source), str(error))
            return
        if not _readable(given.get("link")):
            return  # the reader of the key says so, and not for each link
        del given[source]
        given.pop("link", None)
        given |= {"routers": routers, "links": links}
    for _, link in document.entries((*_PLACE, "links"), dict):
        ends = link.get("between")
        if "name" not in link and isinstance(ends, list) and all(isinstance(e, str) for e in ends):
            link["name"] = "-".join(ends)


_SHARED: TypeAdapter[SharedLink] = TypeAdapter(SharedLink)


def _readable(link: Any) -> bool:
    """Return whether `link` is missing, or can be read as both directions of a link."""
    try:
        _SHARED.validate_json(json.dumps(link)) if link is not None else None
    except ValidationError:
        return False
    return True


def _graphml(document: Document, folder: Path, path: str) -> _Topology:
    """Return the topology of a GraphML file. Raises ValueError."""
    file = document.folder((*_PLACE, "file"), path, folder) / path
    try:
        text = read_plain(file).decode()
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise ValueError(f"{file} is no GraphML: it is no text") from None
    try:
        from networkx import NetworkXError, parse_graphml
    except ImportError:
        raise ValueError(_NEEDS.format("networkx")) from None
    try:
        graph = parse_graphml(text)
    except (NetworkXError, SyntaxError, LookupError, ValueError, TypeError) as error:
        raise ValueError(f"{file} is no GraphML: {error}") from error
    names = {node: str(data.get("label") or node) for node, data in graph.nodes(data=True)}
    if len(set(names.values())) < len(names):
        names = {node: str(node) for node in names}
    edges = [(names[a], names[b], data) for a, b, data in graph.edges(data=True)]
    return _Topology(list(names.values()), edges)


def _hub(document: Document, folder: Path, name: str) -> _Topology:
    """Return the topology `name` of the package topohub. Raises ValueError."""
    try:
        import topohub
    except ImportError:
        raise ValueError(_NEEDS.format("topohub")) from None
    if not re.fullmatch(r"[\w-]+(/[\w.-]+)+", name) or ".." in name:
        raise ValueError(f"{shortened(name)} is no topology: write as gabriel/25/0")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # it leaves its file open
            graph = topohub.get(name)
    except (KeyError, OSError, ValueError):
        raise ValueError(
            f"{shortened(name)} is no topology of topohub: there are gabriel/25/0, backbone/africa,"
            " sndlib/polska, topozoo/Abilene and others, see its documentation"
        ) from None
    names = {node["id"]: str(node.get("name") or node["id"]) for node in graph["nodes"]}
    if len(set(names.values())) < len(names):
        names = {node: f"r{node}" for node in names}
    edges = [(names[e["source"]], names[e["target"]], e) for e in graph["edges"]]
    return _Topology(list(names.values()), edges)


def _spelled(topology: _Topology, usual: Any) -> tuple[list[str], list[dict[str, Any]]]:
    """Return `routers` and `links` as a scenario spells them. Raises ValueError.

    `usual` has the keys of links for which the source has no value.
    """
    if not 0 < len(topology.routers) <= MOST_ROUTERS:
        raise ValueError(
            f"{len(topology.routers)} routers: from 1 to {MOST_ROUTERS:,} are possible"
        )
    names: dict[str, str] = {}
    for router in topology.routers:
        names[router] = _distinct(_plain_name(router), names.values())
    links: dict[str, dict[str, Any]] = {}
    for first, second, data in topology.edges:
        if first == second:
            continue
        between = [names[first], names[second]]
        name = _distinct("-".join(between), [*links, *names.values()])
        sides = {way: side for way in ("up", "down") if (side := _side(data, way, usual))}
        links[name] = {"name": name, "between": between, **sides}
    return list(names.values()), list(links.values())


_LONGEST = 18
"""Characters of a router's name: the names of links have two of these."""


def _plain_name(name: str) -> str:
    """Return `name` as a node may bear it."""
    latin = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^a-z0-9]+", "-", latin.lower()).strip("-")[:_LONGEST].strip("-") or "r"
    try:
        return device_name(plain)
    except ValueError:  # the name of a role
        return f"{plain}-r"


def _distinct(name: str, taken: Any) -> str:
    numbers = (f"{name}-{number}" for number in range(2, 2 + MOST_ROUTERS**2))
    return name if name not in taken else next(each for each in numbers if each not in taken)


def _side(data: Mapping[str, Any], way: str, usual: Any) -> dict[str, str]:
    """Return the keys of a link's direction `way` by the edge's `data`. Raises ValueError."""
    side: dict[str, str] = {}
    if isinstance(data.get("dist"), int | float):
        side["delay"] = about(round(data["dist"] / KM_A_SECOND, 6))
    own = usual.get(way) if isinstance(usual, dict) else None
    side = (own if isinstance(own, dict) else {}) | side
    types = {"rate": Rate.parse, "delay": Seconds.parse}
    for key, parse in types.items():
        for name in (key, f"{way}_{key}"):
            if (value := data.get(name)) is not None:
                if not isinstance(value, str):
                    raise ValueError(f"an edge has {name} {value!r}: write it as text with a unit")
                try:
                    side[key] = str(parse(value))
                except ValueError as error:
                    raise ValueError(f"an edge has {name} {shortened(value)}: {error}") from error
    return side


def check_network(document: Document, groups: Sequence[tuple[int, str, tuple[str, ...]]]) -> None:
    """Add to `document` the mistakes of the network that need more than one key.

    `groups` has index, name and device names of each group.
    """
    given = document.at(_PLACE)
    if not isinstance(given, dict) or any(at[:1] == _PLACE for at in document.broken):
        return
    routers, links = given.get("routers") or [], given.get("links") or []
    _one_name(document, groups, routers, links)
    for number, link in enumerate(links):
        ends = link["between"]
        for index, end in enumerate(ends):
            _known(document, (*_PLACE, "links", number, "between", index), end, routers)
        if ends[0] == ends[1]:
            document.complain(
                (*_PLACE, "links", number, "between"), "joins a router with itself: name two"
            )
    _known(document, (*_PLACE, "server"), given.get("server"), routers)
    attached = _attached(document, groups, given.get("attach") or {}, routers)
    if any(at[:1] == _PLACE for at in document.broken):
        return
    pairs = [link["between"] for link in links]
    server = given.get("server")
    parts = connected(routers, pairs)
    home = next((part for part in parts if server in part), parts[0])
    for router, (address, key) in attached.items():
        if router not in home:
            goal = server or f"most routers, as {min(home)}"
            document.complain(
                (*address, key), f"{router} is not connected with {goal}: give a link between"
            )
    if not attached and len(parts) > 1:
        lost = next(router for router in routers if router not in home)
        document.complain(
            (*_PLACE, "links"), f"{lost} is not connected with the server's router: give a link"
        )


def _known(document: Document, address: Address, router: Any, routers: Sequence[str]) -> None:
    if router is not None and router not in routers:
        some = ", ".join(routers[:8]) + (", …" if len(routers) > 8 else "")
        hint = suggestion(router, routers) or f": there are {some}"
        document.complain(address, f"{shortened(router)} is no router{hint}")


def _one_name(
    document: Document,
    groups: Sequence[tuple[int, str, tuple[str, ...]]],
    routers: Sequence[str],
    links: Sequence[Mapping[str, Any]],
) -> None:
    """Check that no two of devices, groups, bottlenecks, routers and links have the same name."""
    taken = {
        name: f"devices[{index}]" for index, group, names in groups for name in (group, *names)
    }
    for address, entry in document.entries(("bottlenecks",), dict):
        taken.setdefault(str(entry.get("name")), place(address))
    named = [((*_PLACE, "routers", n), name) for n, name in enumerate(routers)]
    named += [((*_PLACE, "links", n, "name"), link["name"]) for n, link in enumerate(links)]
    for address, name in named:
        if (owner := taken.setdefault(name, place(address))) != place(address):
            document.complain(
                address, f"{shortened(name)} is the name of {owner} too: choose another name"
            )


def _attached(
    document: Document,
    groups: Sequence[tuple[int, str, tuple[str, ...]]],
    attach: Mapping[str, str],
    routers: Sequence[str],
) -> dict[str, tuple[Address, str]]:
    """Check that `attach` gives each device one of `routers`; return the routers with devices, each
    with the place and the key of an entry."""
    known = DeviceNames((name, devices) for _, name, devices in groups)
    owners: dict[str, str] = {}
    attached: dict[str, tuple[Address, str]] = {}
    address = (*_PLACE, "attach")
    for key, router in attach.items():
        _known(document, (*address, key), router, routers)
        attached.setdefault(router, (address, key))
        devices = list(known.of(key))
        if not devices:
            names = list(known)
            some = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
            hint = suggestion(key, names) or f": there are {some}"
            document.complain((*address, key), f"{shortened(key)} is no device{hint}")
        twice = [device for device in devices if owners.setdefault(device, key) != key]
        if twice:
            document.complain(
                (*address, key),
                f"{twice[0]} is attached by {shortened(owners[twice[0]])} already: a device is "
                "attached to one router",
            )
    alone = [device for _, _, names in groups for device in names if device not in owners]
    if attach and alone:
        more = f" and {len(alone) - 1} more are" if len(alone) > 1 else " is"
        document.complain(address, f"{alone[0]}{more} attached to no router: name one")
    return attached
