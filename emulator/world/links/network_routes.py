"""Routes through a network of routers: shortest paths by delay, to the server and back.

Routes are fixed for a run. Of paths with equal delays the one with fewer links is taken, then the
one whose next router, then whose link, comes first in the scenario.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from .bottleneck import SharedLink, SharedSide

Way = Literal["up", "down"]
WAYS: tuple[Way, Way] = ("up", "down")

_TICKS = 10**9
"""Units of time in a second in which delays are added: whole numbers have no rounding errors, so
equal delays are equal in any order of the sum."""


class NetworkEdge(Protocol):
    """A link between two routers: `up` from the first to the second, `down` back."""

    @property
    def name(self) -> str: ...
    @property
    def between(self) -> tuple[str, str]: ...
    @property
    def up(self) -> SharedSide: ...
    @property
    def down(self) -> SharedSide: ...


class Hop(NamedTuple):
    """A link that a route passes, and the direction, in the link's own words."""

    link: str
    way: Way


@dataclass(frozen=True)
class Route:
    """The routes between a router and the server's router."""

    routers: tuple[str, ...]
    """Routers on the way to the server, the first and the server's own included."""
    back: tuple[str, ...]
    """Routers on the way from the server."""
    up: tuple[Hop, ...]
    """Links on the way to the server, in order."""
    down: tuple[Hop, ...]
    """Links on the way from the server, in order."""
    shared: SharedLink
    """Least rate and whole delay of each direction."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all links of both directions, each once."""
        return tuple(dict.fromkeys(hop.link for hop in (*self.up, *self.down)))


def routes(routers: Sequence[str], links: Sequence[NetworkEdge], server: str) -> dict[str, Route]:
    """Return the route of each router that is connected with the router `server`, by name."""
    known = {link.name: link for link in links}
    there = _tree(routers, links, server, towards=True)
    back = _tree(routers, links, server, towards=False)
    found = {}
    for router in routers:
        if router in there:
            up, there_routers = _follow(router, there)
            down, back_routers = _follow(router, back)
            down.reverse()
            back_routers.reverse()
            sides = (_series(known, hops) for hops in (up, down))
            found[router] = Route(
                tuple(there_routers),
                tuple(back_routers),
                tuple(up),
                tuple(down),
                SharedLink(*sides),
            )
    return found


def connected(routers: Sequence[str], pairs: Iterable[tuple[str, str]]) -> list[frozenset[str]]:
    """Return the connected parts of a graph of `routers` and links between `pairs` of them, the
    largest first."""
    parts = {router: frozenset([router]) for router in routers}
    for first, second in pairs:
        joined = parts[first] | parts[second]
        parts |= dict.fromkeys(joined, joined)
    return sorted(dict.fromkeys(parts.values()), key=len, reverse=True)


def nearest_to_all(routers: Sequence[str], links: Sequence[NetworkEdge]) -> str:
    """Return the router with the least sum of delays from all others, of equals that with the least
    sum of links between, then the first. Routers that are not connected count as far away.
    """

    def farness(router: str) -> tuple[int, int, int]:
        found = list(_explored(routers, links, router, towards=True))
        delays, hops = sum(delay for _, delay, _, _ in found), sum(hops for _, _, hops, _ in found)
        return len(routers) - len(found), delays, hops

    return min(routers, key=farness)


_Next = tuple[str, Hop] | None
"""The next router on the way to the server, and the link to it; None at the server."""


def _tree(
    routers: Sequence[str], links: Sequence[NetworkEdge], server: str, *, towards: bool
) -> dict[str, _Next]:
    """Return the next hop of each router on the shortest path to or from `server` (Dijkstra, 1959).

    A hop of paths from the server names the link's direction away from the server.
    """
    found = _explored(routers, links, server, towards=towards)
    return {router: step for router, _, _, step in found}


def _explored(
    routers: Sequence[str], links: Sequence[NetworkEdge], server: str, *, towards: bool
) -> Iterator[tuple[str, int, int, _Next]]:
    """Yield each router with the delay of its path, its number of links and its next hop, the
    nearest first."""
    order = {router: place for place, router in enumerate(routers)}
    ends: dict[str, list[tuple[int, str, Hop, int]]] = {router: [] for router in routers}
    for place, link in enumerate(links):
        first, second = link.between
        # from the router nearer to the server to the other one: a path to the server comes back
        ways: tuple[Way, Way] = ("down", "up") if towards else ("up", "down")
        for near, far, way in ((first, second, ways[0]), (second, first, ways[1])):
            delay = round(getattr(link, way).delay * _TICKS)
            ends[near].append((delay, far, Hop(link.name, way), place))
    tree: set[str] = set()
    heap: list[tuple[int, int, int, int, str, _Next]] = [(0, 0, 0, 0, server, None)]
    while heap:
        delay, hops, _, _, router, step = heapq.heappop(heap)
        if router in tree:
            continue
        tree.add(router)
        yield router, delay, hops, step
        for more, far, hop, place in ends[router]:
            if far not in tree:
                entry = (delay + more, hops + 1, order[router], place, far, (router, hop))
                heapq.heappush(heap, entry)


def _follow(router: str, tree: dict[str, _Next]) -> tuple[list[Hop], list[str]]:
    """Return links and routers from `router` to the server."""
    hops, passed = list[Hop](), [router]
    while (step := tree[passed[-1]]) is not None:
        passed.append(step[0])
        hops.append(step[1])
    return hops, passed


def _series(links: dict[str, NetworkEdge], hops: Sequence[Hop]) -> SharedSide:
    """Return the least rate and the whole delay of `hops`, one after the other."""
    side = SharedSide()
    for hop in hops:
        side = side.then(getattr(links[hop.link], hop.way))
    return side
