"""The access link of a container: commands that cut, mend and reshape the link for a fault.

Faults of different verbs overlap, so the link keeps the setting in force: a cut that ends, and a
device that boots, find the link as the setting has it, not as it was at first.
"""

import math

from ..shaping import access
from ..shaping.backend import Backend
from ..shaping.command import Command
from ..shaping.dilated_link import dilated, dilated_side
from ..units import Seconds
from ..world import reshaping
from ..world.bottleneck import SharedLink, SharedSide
from ..world.link import FRAME, Link, Side
from ..world.reshaping import reshaped
from ..world.verbs import Setting
from .box_end import BoxEnd
from .config import Delay, Network, Reshaping


class AccessLink:
    """The commands for the link of a node, as faults leave it.

    A link through the box changes there, before the method returns; its cuts are commands.
    """

    def __init__(self, network: Network, box: BoxEnd | None = None) -> None:
        """`box` is the node's end of a link through the box."""
        self._network, self._cut, self._box = network, False, box
        self._own = self._wanted = self._shaped = Link()
        self._backend, self._beyond, self._dilation = Backend(), list[Side](), 1.0
        self._shared = SharedLink()
        if network.reshaping is not None:
            self._own = self._wanted = self._shaped = reshaping.read(network.reshaping.link)
            self._backend = Backend.read(network.reshaping.backend)
            self._shared = _delays(*network.reshaping.delays)
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
        if self._wanted == self._own == self._shaped:
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
        self._wanted = reshaped(self._own, setting)
        if setting is not None and "link" in setting:
            self._wanted = self._shared.lengthen(self._wanted)
        return [] if self._cut else self._change()

    def _change(self) -> list[Command]:
        old, self._shaped = self._shaped, self._wanted
        old, new = dilated(old, self._dilation), dilated(self._wanted, self._dilation)
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
    shared: SharedLink | None = None,
) -> Reshaping:
    """Return the facts with which a supervisor reshapes `link`; the link `server` lies behind.

    `link` has the delays of the bottleneck `shared`, if there is one.
    """
    beyond = [reshaping.plain_side(server.down)]
    up = reshaping.plain_side(server.up)
    delays = (float(shared.up.delay), float(shared.down.delay)) if shared else (0.0, 0.0)
    return Reshaping(reshaping.plain(link), backend.plain(), beyond, up, dilation, delays)


def _delays(up: float, down: float) -> SharedLink:
    return SharedLink(SharedSide(delay=Seconds(up)), SharedSide(delay=Seconds(down)))
