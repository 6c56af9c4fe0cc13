"""The access link of a container: commands that cut, mend and reshape the link for a fault.

Faults of different verbs overlap, and the link's own steps and trace go on under a fault, so the
link keeps the setting in force: a cut that ends, and a device that boots, find the link as the
setting has it, not as it was at first.
"""

import math

from ...shaping import access
from ...shaping.backend import Backend
from ...shaping.command import Command
from ...shaping.playable_link import dilated, dilated_side
from ...units import Seconds
from ...world.links import reshaping
from ...world.links.bottleneck import SharedLink, SharedSide
from ...world.links.link import FRAME, Link, Side
from ...world.links.link_course import link_at
from ...world.links.reshaping import reshaped
from ...world.verbs import Setting
from ..config import Delay, Network, Reshaping
from .box_end import BoxEnd

SLOW = 250e3
"""Rate in bits per second below which a full frame takes 50 ms, and the wait for its turn too."""


class AccessLink:
    """The commands for the link of a node, as faults leave it.

    A link through the box changes there, before the method returns; its cuts are commands.
    """

    def __init__(self, network: Network, box: BoxEnd | None = None) -> None:
        """`box` is the node's end of a link through the box."""
        self._network, self._cut, self._box = network, False, box
        self._own = self._wanted = self._shaped = self._first = Link()
        self._setting: Setting | None = None
        self.risen = False
        """Whether the last change has raised a rate below `SLOW`: the queues sleep on."""
        self._backend, self._beyond, self._dilation = Backend(), list[Side](), 1.0
        self._shared = SharedLink()
        if network.reshaping is not None:
            facts = network.reshaping
            self._shared = _delays(*facts.delays)
            self._own = link_at(reshaping.read(facts.link), facts.draw, facts.since)
            self._first = self._wanted = self._shaped = self._shared.lengthen(self._own)
            self._backend = Backend.read(network.reshaping.backend)
            self._dilation = network.reshaping.dilation
            beyond = map(reshaping.read_side, network.reshaping.beyond)
            self._beyond = [dilated_side(side, self._dilation) for side in beyond]

    def sever(self) -> list[Command]:
        """Return the commands for a cut of the link."""
        self._cut = True
        return self._network.sever

    def mend(self) -> list[Command]:
        """Return the commands that let packets through again, on the link as the setting has it."""
        self._cut = False
        if self._wanted == self._first == self._shaped:
            return self._network.mend
        wanted = dilated(self._wanted, self._dilation)
        mend = access.mend(wanted, self._backend, beyond=self._beyond, changing=True)
        if self._backend.cut in ("nftables", "drop"):
            return [*self._change(), *mend]
        # a cut by netem has taken the place of the shape, and its end shapes the link anew
        self._shaped = self._wanted
        return mend

    def reshape(self, setting: Setting | None) -> list[Command]:
        """Return commands that change the link by `setting`. None gives the node's own link back.

        A link that is cut changes when it is mended.
        """
        self._setting = setting
        self._wanted = self._shared.lengthen(reshaped(self._own, setting))
        return [] if self._cut else self._change()

    def change_own(self, link: Link) -> list[Command]:
        """Return commands that make `link` the node's own link; the setting in force changes it."""
        self._own = link
        return self.reshape(self._setting)

    def _change(self) -> list[Command]:
        old, self._shaped = self._shaped, self._wanted
        old, new = dilated(old, self._dilation), dilated(self._wanted, self._dilation)
        self.risen = _risen(old.up, new.up) or _risen(old.down, new.down)
        if self._box is not None:
            if old != new:
                self._box.change(old, new)
            return []
        return access.change(old, new, self._backend)

    @property
    def in_force(self) -> Link | None:
        """The link that the node should have now; None if no fault changes it."""
        return None if self._network.reshaping is None else self._wanted

    def received_delay(self) -> Delay | None:
        """Return the time for which the node holds received messages back.

        None if it cannot change.
        """
        changed = self._network.reshaping
        if changed is None:
            return None
        server = reshaping.read_side(changed.server_up)
        return held(self._backend, server, self._wanted.down)

    def sent_delay(self) -> Delay:
        """Return the time for which the server holds back the messages of the node."""
        beyond = self._network.reshaping.beyond if self._network.reshaping else []
        server = reshaping.read_side(beyond[0]) if beyond else Side()
        return held(self._backend, self._wanted.up, server)


def _risen(old: Side, new: Side) -> bool:
    """Return whether the rate of a slow side has become higher."""
    slow = old.rate is not None and old.rate < SLOW
    return slow and (new.rate is None or new.rate > (old.rate or 0.0))


def held(backend: Backend, first: Side, second: Side) -> Delay:
    """Return for how long a receiver holds back messages that pass both sides of a link.

    The kernel knows no messages, so their set-up is left to the receiver; the delay is left to it
    only if the kernel cannot delay packets.
    """
    delay = jitter = 0.0
    if backend.delay == "receiver":
        delay = first.delay + second.delay
        # jitters of independent sides add up in their squares
        jitter = math.hypot(first.jitter, second.jitter)
    setup = first.setup + second.setup
    slower = min(first.net_rate, second.net_rate)
    pace = 8 * FRAME / slower if setup and slower < math.inf else 0.0
    return Delay(delay, jitter, setup, pace)


def reshaping_of(
    link: Link,
    backend: Backend,
    server: Link,
    dilation: float = 1.0,
    draw: float = 0.0,
    since: float = 0.0,
    shared: SharedLink | None = None,
) -> Reshaping:
    """Return the facts with which a supervisor reshapes `link`; the link `server` lies behind.

    `draw` and `since` place the steps and traces of `link`, as `link_course` takes them.
    `shared` is the node's bottleneck, with delays that `link` does not have.
    """
    beyond = [reshaping.plain_side(server.down)]
    up = reshaping.plain_side(server.up)
    delays = (float(shared.up.delay), float(shared.down.delay)) if shared else (0.0, 0.0)
    own = reshaping.plain(link)
    return Reshaping(own, backend.plain(), beyond, up, dilation, draw, since, delays)


def _delays(up: float, down: float) -> SharedLink:
    return SharedLink(SharedSide(delay=Seconds(up)), SharedSide(delay=Seconds(down)))
