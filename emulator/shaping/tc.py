"""A link as tc commands; these functions only write the commands.

    device ── [htb, if the uplink loses] ── tbf: rate ── netem: delay, jitter, loss
                 └─ blackhole: packets that nft chose to lose
    ifb    ── tbf: rate ── netem        incoming packets, before they are delivered

Levels that a side does not need are left out. Pitfalls:

* The rate is above netem, not below: before Linux 6.13 a netem with a child that cuts packets in
  two miscounts them, and stops for good.
* netem draws a delay for each packet and sends packets in the order of their due times. Jitter
  would thus reorder TCP segments, which TCP takes for loss. With a rate of its own, here one too
  high to matter, netem makes a packet due after the one before, as `Hold` does.
* tbf cuts packets that are longer than its burst; on a fast link whole superpackets pass. To lose
  single frames, they must be cut there, too: so a lossy side has a peak rate, too high to matter,
  with a bucket of one frame. So has a side with an overhead, which tbf and htb charge once for a
  packet, however many frames are in it.
* A tbf whose bucket becomes smaller than a superpacket in its queue waits for ever. So a link that
  may change has the peak rate, too.
* A tbf that cuts a superpacket cuts it into single frames, each with a timer, an interrupt and a
  wake-up of its own. On a host full of devices that is most of a network's cost. So senders make no
  superpacket longer than a bucket, except for slow links, which have few frames.
* netem draws for packets, not for frames. So packets are cut into frames wherever a draw decides
  what becomes of a packet, and where a `limit` counts packets.
* netem hands a duplicate to the root of the tree: the copy passes the rate, too.
* `tc qdisc change` of a netem leaves corruption, correlation and the table of the distribution as
  they were, unless the line names others. A tree whose new line does not is built anew.
* Without a table netem draws from a uniform distribution: iproute2 has no `uniform.dist`.
* Only IPv4 is redirected, and only IPv4 enters the classes of a lossy uplink: a lost ARP request
  would silence a node for a second, and a WAN has no ARP to lose.
"""

import math
from collections.abc import Iterable

from ..units import Rate, Seconds
from ..world.links.link import ETHERNET, Link, Side
from .backend import Backend
from .command import Command
from .playable_link import DilatedSide

HANDLE = 0x504E
"""Handle of our root qdisc, by which `clear` recognizes it."""
WHOLE = f"{HANDLE:x}:1"
"""Class of packets that are delivered."""
LOST = f"{HANDLE:x}:2"
"""Class that discards packets; nft sends packets there by this priority."""

SUPERPACKET = 65536
SLACK = 2e-3
"""Seconds by which a busy host's timer may be late without loss of rate."""
QUEUE = 0.25
"""Seconds of traffic that a bottleneck queues before it drops, as in a home router."""
SHORTEST_QUEUE = 16
"""Shortest queue in frames: TCP starts with ten at once, on a dial-up line more than `QUEUE`."""
UNRATED_QUEUE = 10_000
"""Packets that an unrated link queues; more than TCP's windows have under way."""
UNFELT = "100gbit"
"""Rate for mechanisms that need a rate although the link has none; too high to matter."""
ANY_SEGMENTS = 65535
"""Segments in a superpacket without a limit."""
_KINDS = ("tbf", "netem", "bfifo", "htb")
"""Qdiscs and classes with numbers that `tc` can change in place."""
FEW_SEGMENTS = 4
"""Smallest bucket, in frames, that limits superpackets: a slow link must not shorten them."""


def shape(
    link: Link,
    backend: Backend,
    device: str = "eth0",
    beyond: Iterable[Side] = (),
    *,
    changing: bool = False,
) -> list[Command]:
    """Return commands that make `device` the near end of `link`; `device` must be unshaped.

    `beyond` are the sides of far ends that outgoing packets pass. `changing`: whether `change` may
    follow. Loss is applied only if the backend uses netem for it; nft must choose packets
    otherwise.
    """
    commands = []
    max_segments = 1 if changing else segments(link.up, beyond, backend)
    if max_segments < ANY_SEGMENTS:
        commands.append(f"ip link set dev {device} gso_max_segs {max_segments}")
    commands += _outgoing(link, backend, device, changing)
    commands += _incoming(link, backend, device, changing)
    return [Command.of(line) for line in commands]


def _outgoing(link: Link, backend: Backend, device: str, changing: bool) -> list[str]:
    """Return commands for the qdiscs of outgoing packets."""
    return _tree(link.up, backend, device, lossy=_by_classes(link.up, backend), changing=changing)


def _by_classes(side: Side, backend: Backend) -> bool:
    """Return whether IPv4 is kept apart from other protocols on an uplink, as it may be lost."""
    return side.loss > 0 or (side.lossy and backend.delay == "netem")


def _incoming(link: Link, backend: Backend, device: str, changing: bool) -> list[str]:
    """Return commands for the qdiscs of incoming packets; none for a downlink without a shape."""
    incoming = _tree(link.down, backend, _ifb(device), lossy=False, changing=changing)
    return redirect(device) + incoming if incoming else []


def change(old: Link, new: Link, backend: Backend, device: str = "eth0") -> list[Command]:
    """Return commands that turn the shape of `old` into that of `new`, both by `shape` as changing.

    Where a direction has the same tree in both, its numbers are changed in place, and no queued
    packet is lost. Otherwise the tree of this direction is built anew, and the packets in its
    queues are lost, as in a handover.
    """
    up, new_up = (_outgoing(link, backend, device, True) for link in (old, new))
    down, new_down = (_incoming(link, backend, device, True) for link in (old, new))
    return _turn(up, new_up, _clear_up(device)) + _turn(down, new_down, _clear_down(device))


def _turn(before: list[str], after: list[str], clearing: list[str]) -> list[Command]:
    """Return commands that turn the tree of `before` into that of `after`.

    `clearing` are the commands that remove a tree, needed where new numbers do not suffice.
    """
    places = [[_place(line) for line in lines] for lines in (before, after)]
    if places[0] == places[1] and not any(map(_sticks, before, after)):
        pairs = zip(before, after, strict=True)
        lines = [line.replace(" add ", " change ", 1) for was, line in pairs if line != was]
        return [Command.of(line) for line in lines]
    removal = [Command.of(line) for line in clearing] if before else []
    return removal + [Command.of(line) for line in after]


def _place(line: str) -> list[str]:
    """Return the words of a command up to the kind of its qdisc or class: its place in the tree."""
    words = line.split()
    kinds = [place for place, word in enumerate(words) if word in _KINDS]
    return words[: kinds[0] + 1] if kinds else words


def _sticks(was: str, line: str) -> bool:
    """Return whether `tc qdisc change` to `line` would leave a part of the netem `was` in force."""
    old, new = _kept(was), _kept(line)
    uniform = "jitter" in new and "distribution" not in new
    table = uniform and not ("jitter" in old and "distribution" not in old)
    return table or bool(old & {"corrupt", "correlation"} - new)


def _kept(line: str) -> set[str]:
    """Return the settings of a netem's `line` that a change without them leaves in force."""
    words = line.split()
    kept: set[str] = {"corrupt", "distribution"} & set(words)
    if "netem" not in words or "delay" not in words:
        return kept
    times = words[words.index("delay") + 2 :]
    if times[0].endswith("us"):
        kept |= {"jitter"} | ({"correlation"} if times[1].endswith("%") else set())
    return kept


def clear(device: str = "eth0") -> list[Command]:
    """Return commands that undo `shape` on `device`, done or not; roots and ifbs of others stay."""
    segments_again = f"ip link set dev {device} gso_max_segs {ANY_SEGMENTS}"
    lines = [*_clear_up(device), *_clear_down(device), segments_again]
    return [Command.of(line, lenient=True) for line in lines]


def _clear_up(device: str) -> list[str]:
    """Return commands that remove the tree of outgoing packets."""
    return [f"tc qdisc del dev {device} root handle {HANDLE:x}:"]


def _clear_down(device: str) -> list[str]:
    """Return commands that remove the tree of incoming packets."""
    return [f"tc qdisc del dev {device} ingress", f"ip link del dev {_ifb(device)} type ifb"]


def redirect(device: str) -> list[str]:
    """Return commands to pass all incoming IPv4 of `device` through a new ifb first."""
    ifb = _ifb(device)
    return [
        f"ip link add dev {ifb} type ifb",
        f"ip link set dev {ifb} up",
        f"tc qdisc add dev {device} ingress",
        f"tc filter add dev {device} parent ffff: protocol ip u32 match u32 0 0 "
        f"action mirred egress redirect dev {ifb}",
    ]


def classes(device: str, rate: str) -> list[str]:
    """Return commands for an htb root: IPv4 goes to `WHOLE`, packets of priority `LOST` nowhere."""
    root = f"{HANDLE:x}:"
    return [
        f"tc qdisc add dev {device} root handle {root} htb default 0",
        f"tc class add dev {device} parent {root} classid {WHOLE} htb {rate}",
        f"tc class add dev {device} parent {root} classid {LOST} htb {_pass()}",
        f"tc qdisc add dev {device} parent {LOST} blackhole",
        f"tc filter add dev {device} parent {root} protocol ip u32 match u32 0 0 flowid {WHOLE}",
    ]


def _tree(side: Side, backend: Backend, device: str, *, lossy: bool, changing: bool) -> list[str]:
    """Return commands for the qdiscs of one direction, from the root down."""
    handle = HANDLE
    commands: list[str] = []

    def below() -> str:
        return f"parent {handle:x}:1" if commands else "root"

    by_htb = side.rate is not None and backend.rate == "htb"
    if lossy or by_htb:
        commands += classes(device, _htb(side) if by_htb else _pass())
    for kind in _chain(side, backend, changing):
        parent = below()
        handle += bool(commands)
        commands.append(f"tc qdisc add dev {device} {parent} handle {handle:x}: {kind}")
    return commands


def _chain(side: Side, backend: Backend, changing: bool) -> list[str]:
    """Return the qdiscs of one direction from the top, without the classes."""
    chain = []
    if side.rate and backend.rate == "tbf":
        chain.append(bucket(side, changing=changing))
    late, losing = _late(side, backend), backend.loss == "netem" and side.loss > 0
    modelled = backend.delay == "netem" and _modelled(side)
    if late or losing or modelled:
        chain.append(_netem(side, late, losing, modelled))
    elif side.rate and backend.rate == "htb":
        chain.append(f"bfifo limit {usual_queue(side) + 2 * SUPERPACKET}")
    return chain


def bucket(side: Side, *, changing: bool) -> str:
    """Return the words of a tbf qdisc for the rate of `side`, which may be `changing`."""
    assert side.rate is not None
    words = [f"tbf rate {bits(side.rate)} burst {usual_burst(side)}"]
    words += [f"limit {usual_queue(side)}", *_overhead(side)]
    if framed(side) or changing:
        words += [f"peakrate {UNFELT} mtu {ETHERNET}"]
    return " ".join(words)


def framed(side: Side) -> bool:
    """Return whether the kernel must take single frames on a side, as a draw decides each of them,
    or the rate is charged for the overhead of each."""
    return side.drawn or side.overhead > 0


def _late(side: Side, backend: Backend) -> bool:
    return backend.delay == "netem" and side.delay > 0


def _modelled(side: Side) -> bool:
    """Return whether the side has keys that only a netem keeps, delay and loss aside."""
    drawn = side.loss_model or side.duplicate or side.corrupt or side.reorder
    return bool(drawn) or side.limit is not None


def _netem(side: Side, late: bool, losing: bool, modelled: bool) -> str:
    """Return the words of a netem qdisc with delay (if `late`), loss (if `losing`) and the other
    keys (if `modelled`)."""
    words = ["netem", "limit", str(_places(side))]
    if late:
        words += ["delay", _us(side.delay)]
    if late and side.jitter:
        words += [_us(side.jitter), *([_share(side.correlation)] if side.correlation else [])]
        words += [] if side.distribution == "uniform" else ["distribution", side.distribution]
    if losing:
        words += ["loss", _share(side.loss)]
    if modelled:
        words += _model_words(side)
    return " ".join([*words, "rate", UNFELT])


def _model_words(side: Side) -> list[str]:
    """Return netem's words for the keys of `side` beside delay and independent loss."""
    words: list[str] = []
    if side.loss_model is not None:
        ((kind, shares),) = side.loss_model.plain().items()
        words += ["loss", kind, *map(_share, shares.values())]
    for key in ("duplicate", "corrupt", "reorder"):
        if share := getattr(side, key):
            words += [key, _share(share)]
    return words + (["gap", str(side.gap)] if side.gap > 1 else [])


def _htb(side: Side) -> str:
    """Return the words of an htb class with the rate of `side`."""
    assert side.rate is not None
    # without a quantum tc derives one from the rate, and warns that it is too big or too small
    size = usual_burst(side)
    words = [f"rate {bits(side.rate)}", *_overhead(side), f"burst {size} cburst {size}"]
    return " ".join([*words, f"quantum {ETHERNET}"])


def _overhead(side: Side) -> list[str]:
    return [f"overhead {side.overhead}"] if side.overhead else []


def _pass() -> str:
    """Return the words of an htb class without a limit that matters."""
    return f"rate 32gbit burst 1048576 cburst 1048576 quantum {SUPERPACKET}"


def segments(up: Side, beyond: Iterable[Side], backend: Backend) -> int:
    """Return the number of frames that TCP may combine into a packet, limited by the buckets of
    `up` and `beyond`."""
    beyond = tuple(beyond)
    in_kernel = backend.rate != "box"
    if up.drawn or (in_kernel and up.overhead) or (up.rate is not None and backend.rate == "htb"):
        return 1  # to lose or charge them one by one, or because htb cannot cut
    if any(side.drawn_by_keys and side.rate is None for side in beyond):
        return 1  # no tbf cuts them there
    if backend.rate == "htb" and any(side.overhead for side in beyond):
        return 1
    buckets = [usual_burst(s) // ETHERNET for s in (up, *beyond) if s.rate and not framed(s)]
    fit = [n for n in buckets if FEW_SEGMENTS <= n < SUPERPACKET // ETHERNET]
    return min(fit, default=ANY_SEGMENTS) if backend.rate == "tbf" else ANY_SEGMENTS


def burst(rate: Rate) -> int:
    """Return the bytes that an idle link passes at once: a frame, and the rate times `SLACK`."""
    return ETHERNET + math.ceil(rate / 8 * SLACK)


def queue(rate: Rate) -> int:
    """Return the length in bytes of the bottleneck's queue."""
    return max(SHORTEST_QUEUE * ETHERNET, math.ceil(rate / 8 * QUEUE))


def _places(side: Side) -> int:
    """Return the number of packets that netem may hold, queued or under way.

    netem's default of 1000 drops packets that are merely under way on a long fast link, and on a
    slow link makes packets wait for seconds.
    """
    if side.limit is not None:
        return side.limit
    if side.rate is None:
        return UNRATED_QUEUE
    under_way = side.rate / 8 * (side.delay + 4 * side.jitter)
    return math.ceil((under_way + usual_queue(side)) / ETHERNET)


def usual_queue(side: Side) -> int:
    """Return the length in bytes of the queue of a side with a rate.

    A `limit`, which counts packets, is kept by netem or by the box.

    In a dilated run a packet waits as many emulated seconds.
    """
    return queue(_emulated_rate(side))


def usual_burst(side: Side) -> int:
    """Return the bytes that an idle link passes at once on a side with a rate.

    A dilated run keeps them, and so the frames that TCP combines into a packet.
    """
    return burst(_emulated_rate(side))


def _emulated_rate(side: Side) -> Rate:
    assert side.rate is not None
    return side.emulated_rate if isinstance(side, DilatedSide) else side.rate


def _ifb(device: str) -> str:
    return f"ifb-{device}"


def bits(rate: Rate) -> str:
    return f"{round(rate)}bit"


def _us(seconds: Seconds) -> str:
    return f"{round(seconds * 1e6)}us"


def _share(share: float) -> str:
    return f"{share * 100:.6f}%"


ROOM_BACK = 1e6
"""Least bits a second of a way back that acknowledgements never fill: Linux sends at most 1,024 a
second for a message, which are 541 kbit/s."""


def filled(up: Side, beyond: Iterable[Side], back: Iterable[Rate], backend: Backend) -> bool:
    """Return whether TCP may fill packets up to `segments`, at whatever pace it sends.

    Where a link cuts packets, packets of 64 KiB would only overflow its queue. A full packet has
    one acknowledgement, so where a rate of the way `back` is so low that acknowledgements hold up
    a sender, full packets would travel too fast.
    """
    if any(rate < ROOM_BACK for rate in back):
        return False
    beyond = tuple(beyond)
    rated = [side for side in (up, *beyond) if side.rate]
    cuts = any(framed(side) or usual_burst(side) < FEW_SEGMENTS * ETHERNET for side in rated)
    number = segments(up, beyond, backend)
    return bool(rated) and number > 1 and (number < ANY_SEGMENTS or not cuts)
