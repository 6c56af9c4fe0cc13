"""Processor time of the packet box's own loop for each frame, beside bare reads and writes.

Pairs of sockets stand for the TAP devices, so nothing of the network's cost is in these figures.
"""

import os
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Any, cast

from emulator.shaping.box.carried_link import CarriedLink, Lane
from emulator.shaping.box.direction import Direction
from emulator.shaping.box.frame_loop import FrameLoop
from emulator.shaping.box.output_lines import Lateness
from emulator.units import Seconds
from emulator.world.links.link import Side

FRAME = bytes(10) + b"\xff" * 12 + b"\x08\x00" + bytes(1500)
LINKS = 20
ROUNDS = 500
TRIES = 3
PAUSE = 5e-4
"""Seconds between two rounds."""


@dataclass
class _Link:
    """What the loop knows of a link."""

    lanes: tuple[Lane, Lane]
    watch: int


def measure(rounds: int = ROUNDS) -> dict[str, float]:
    """Return µs for each frame: bare reads and writes, and the box; medians of `TRIES`."""
    pairs = [(_trial(rounds, box=False), _trial(rounds, box=True)) for _ in range(TRIES)]
    bare, box = (median(column) for column in zip(*pairs, strict=True))
    return {"bare_us": bare, "box_us": box, "ratio": box / bare}


def lines(found: dict[str, float]) -> list[str]:
    """Return the lines of a table."""
    return [
        f"the packet box's loop, us for each frame: {found['box_us']:.1f}",
        f"  a bare read and write {found['bare_us']:.1f}; ratio {found['ratio']:.1f}",
    ]


def _trial(rounds: int, *, box: bool) -> float:
    with ExitStack() as stack:

        def pair() -> tuple[socket.socket, socket.socket]:
            ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            for end in ends:
                end.setblocking(False)
                stack.enter_context(end)
            return ends

        cables = [(pair(), pair()) for _ in range(LINKS)]
        serve = _looped(stack, cables, pair) if box else _copied(cables)
        used, frames = 0.0, 0
        for _ in range(rounds):
            for (stack_end, _), (wire_end, _) in cables:
                stack_end.send(FRAME)
                wire_end.send(FRAME)
            began = time.thread_time()
            serve()
            used += time.thread_time() - began
            frames += sum(_emptied(end) for cable in cables for end, _ in cable)
            time.sleep(PAUSE)
        return 1e6 * used / frames


def _copied(cables: list[Any]) -> Callable[[], None]:
    """Return a function that passes a frame on, in each direction of each cable."""

    def serve() -> None:
        for (_, stack_end), (_, wire_end) in cables:
            os.write(wire_end.fileno(), os.read(stack_end.fileno(), 65559))
            os.write(stack_end.fileno(), os.read(wire_end.fileno(), 65559))

    return serve


def _looped(stack: ExitStack, cables: list[Any], pair: Callable[[], Any]) -> Callable[[], None]:
    """Return a round of the box that carries these cables with 5 ms delay."""
    clock, lateness = time.monotonic, Lateness()
    loop = FrameLoop(clock, lambda link: None)
    stack.callback(loop.close)
    for (_, stack_end), (_, wire_end) in cables:
        ends = stack_end.fileno(), wire_end.fileno()
        lanes = [
            Lane(source, sink, _direction(), lateness, clock)
            for source, sink in (ends, tuple(reversed(ends)))
        ]
        watch = pair()[0].fileno()
        loop.carry(cast(CarriedLink, _Link((lanes[0], lanes[1]), watch)))
    return lambda: loop.round(clock())


def _direction() -> Direction:
    return Direction(Side(delay=Seconds(0.005)), lambda use: Random(use), rates=False)


def _emptied(end: socket.socket) -> int:
    """Read all frames of `end`; return their number."""
    frames = 0
    try:
        while True:
            frames += bool(end.recv(len(FRAME)))
    except BlockingIOError:
        return frames
