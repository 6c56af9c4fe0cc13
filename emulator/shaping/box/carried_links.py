"""Registry of the links in the box, by name. A link obeys the connection that attached it."""

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

from ... import chance
from .carried_link import CarriedLink
from .departure_watch import is_watch
from .frame_loop import FrameLoop
from .link_request import LinkRequest, RefusedRequestError
from .output_lines import Lateness, OutputLines
from .tap import device

MOST_LINKS = 4096
"""Most links of a box."""


class CarriedLinks:
    """Operations on the links of a box, as requests ask for them."""

    def __init__(self, seed: int, clock: Callable[[], float], output: OutputLines) -> None:
        self.loop = FrameLoop(clock, self._gone)
        self.lateness = Lateness()
        self._seed, self._clock, self._output = seed, clock, output
        self._links: dict[str, CarriedLink] = {}
        self._owners: dict[str, object] = {}
        self._times = Counter[str]()
        self._dropped = 0
        """Frames that links dropped which have ended, less those that `dropped` has returned."""

    def __len__(self) -> int:
        return len(self._links)

    def dropped(self) -> int:
        """Return the frames dropped for want of room since the last call."""
        links = self._links.values()
        total = self._dropped + sum(link.dropped for link in links)
        self._dropped -= total
        return total

    def answer(self, request: LinkRequest, ends: list[int], owner: object) -> dict[str, Any]:
        """Serve `request`; return the answer. Raises RefusedRequestError.

        `ends` are the descriptors that came with the request, closed by the caller if it is
        refused; `owner` is the connection.
        """
        match request.do:
            case "attach":
                self._attach(request, ends, owner)
            case "report":
                return {"ok": True, **self._known(request.name).report()}
            case "change":
                self._change(request, owner)
            case "detach":
                link = self._owned(request.name, owner)
                self._end(link)
        return {"ok": True}

    def _attach(self, request: LinkRequest, ends: list[int], owner: object) -> None:
        name = request.name
        if name in self._links and name in self._owners:
            raise RefusedRequestError(f"{name} is attached already")
        if len(self._links) >= MOST_LINKS:
            raise RefusedRequestError(f"the box carries {MOST_LINKS} links and takes no more")
        devices = {device(end) for end in ends[:2]}
        if len(ends) != 3 or len(devices) != 2 or None in devices or not is_watch(ends[2]):
            raise RefusedRequestError("attach needs two TAP devices and a netlink socket")
        if name in self._links:  # of a container that has ended and left its network
            self._end(self._links[name])
        for end in ends[:2]:
            os.set_blocking(end, False)
        link = CarriedLink(
            name,
            request.link,
            (ends[0], ends[1], ends[2]),
            rates=request.rates,
            seed=chance.packets(self._seed, name, self._times[name]),
            lateness=self.lateness,
            clock=self._clock,
        )
        self.loop.carry(link)  # may fail, and then there is no link
        self._times[name] += 1
        self._links[name], self._owners[name] = link, owner

    def _change(self, request: LinkRequest, owner: object) -> None:
        link = self._owned(request.name, owner)
        link.change(request.link)
        self.loop.reschedule(link)

    def _known(self, name: str) -> CarriedLink:
        if name not in self._links:
            raise RefusedRequestError(f"{name} is not attached")
        return self._links[name]

    def _owned(self, name: str, owner: object) -> CarriedLink:
        link = self._known(name)
        if self._owners.get(name) is not owner:
            raise RefusedRequestError(f"{name} belongs to another connection")
        return link

    def leave(self, owner: object) -> None:
        """Forget the connection `owner`. Its links stay, and no connection may change them."""
        self._owners = {name: other for name, other in self._owners.items() if other is not owner}

    def _gone(self, link: CarriedLink) -> None:
        """End a link without a network, and print its name."""
        self._end(link)
        self._output.write({"box": "gone", "link": link.name})

    def _end(self, link: CarriedLink) -> None:
        self.loop.drop(link)
        self._dropped += link.dropped
        del self._links[link.name]
        self._owners.pop(link.name, None)
        link.close()

    def close(self) -> None:
        """End all links: their containers lose their networks."""
        for link in list(self._links.values()):
            self._end(link)
        self.loop.close()
