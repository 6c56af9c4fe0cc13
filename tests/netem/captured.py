"""What a capture of `capture.py` says of a link: rates while busy, delays and losses.

Superpackets are taken apart, so that a queue between two captures may do the same.
"""

import itertools
import socket
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from emulator.node.fidelity.echo_wire import PORT
from tests.netem.capture import RECORD

ETHERNET, UDP_HEADER, SEGMENT = 14, 8, 1448
TCP, UDP = 6, 17
FULL = 1514
"""Bytes of the longest frames."""
FEWEST = 100
"""Full frames of a stretch in which a link is busy."""
BUCKET = 16
"""Full frames at the begin of a stretch that do not count."""
BURST = 2e-3
"""Seconds of its rate that a link may pass at once."""


class Frame(NamedTuple):
    """A frame at a device."""

    at: float
    """Seconds since 1970."""
    left: bool
    """Whether the device sent the frame."""
    size: int
    device: str
    source: str
    target: str
    key: bytes
    """The same at each device that the frame passes, and different for each frame."""
    echo: bool
    """Whether the frame is an echo of the platform."""


def read(path: Path) -> list[Frame]:
    """Return the frames of TCP and UDP in the capture `path`, by time."""
    records = RECORD.iter_unpack(path.read_bytes())
    return sorted(frame for record in records for frame in _frames(*record))


def _frames(at: int, left: bool, size: int, device: bytes, head: bytes) -> Iterator[Frame]:
    """Yield the frames of a packet, of which `head` has the first bytes."""
    begin = ETHERNET + 4 * (head[ETHERNET] & 15)
    protocol, number, ports = head[23], int.from_bytes(head[18:20], "big"), head[begin : begin + 4]
    ends = socket.inet_ntoa(head[26:30]), socket.inet_ntoa(head[30:34])
    common = (at / 1e9, bool(left)), (device.rstrip(b"\0").decode(), *ends)
    if protocol == UDP:
        echo = PORT in (int.from_bytes(ports[:2], "big"), int.from_bytes(ports[2:], "big"))
        content = head[begin + UDP_HEADER : begin + UDP_HEADER + 16]  # an echo's number, no stamps
        yield Frame(*common[0], size, *common[1], head[26:34] + ports + content, echo)
    if protocol != TCP:
        return
    headers = begin + 4 * (head[begin + 12] >> 4)
    sequence = int.from_bytes(head[begin + 4 : begin + 8], "big")
    for frame, place in enumerate(range(0, max(1, size - headers), SEGMENT)):
        part = min(SEGMENT, size - headers - place)
        told = (number + frame) % (1 << 16), (sequence + place) % (1 << 32)
        key = head[26:34] + ports + told[0].to_bytes(2, "big") + told[1].to_bytes(4, "big")
        yield Frame(*common[0], headers + part, *common[1], key, False)


def pairs(sent: Iterable[Frame], came: Iterable[Frame]) -> tuple[list[float], int]:
    """Return the delays in seconds of the `sent` frames that `came`, and the number of others."""
    arrivals: dict[bytes, list[float]] = defaultdict(list)
    for frame in came:
        arrivals[frame.key].append(frame.at)
    delays, lost = [], 0
    for frame in sent:
        if arrivals[frame.key]:
            delays.append(arrivals[frame.key].pop(0) - frame.at)
        else:
            lost += 1
    return delays, lost


def busy_rates(frames: Sequence[Frame], rate: float) -> list[float]:
    """Return the mean rate of each stretch in which full frames follow each other at about `rate`.

    The first frames of a stretch are left out: an idle link's bucket passes them at once.
    """
    sums = list(itertools.accumulate((8 * frame.size for frame in frames), initial=0))
    full = [place for place, frame in enumerate(frames) if frame.size == FULL]
    pause = 2 * (8 * FULL / rate + BURST)
    breaks = [
        number
        for number, (a, b) in enumerate(itertools.pairwise(full), 1)
        if frames[b].at - frames[a].at > pause
    ]
    rates = []
    for begin, end in itertools.pairwise([0, *breaks, len(full)]):
        stretch = full[begin + BUCKET : end]
        if len(stretch) >= FEWEST:
            first, last = stretch[0], stretch[-1]
            took = frames[last].at - frames[first].at
            rates.append((sums[last + 1] - sums[first + 1]) / took)
    return rates


def median_rate(frames: Sequence[Frame], rate: float) -> float:
    """Return the median of `busy_rates`."""
    return statistics.median(busy_rates(frames, rate))
