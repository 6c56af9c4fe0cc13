"""Damage to single frames: a wrong bit, which the checksums of the receiver find."""

from random import Random

from .tap import HEADER

_ETHERNET_HEADER = 14


def damaged(frame: bytes, draws: Random) -> bytes:
    """Return `frame` with a wrong bit behind its Ethernet header.

    The frame must have its checksums. It gets an empty offload header: the kernel must not mend it.
    """
    begin = HEADER + _ETHERNET_HEADER
    if len(frame) <= begin:
        return frame
    place, bit = draws.randrange(begin, len(frame)), 1 << draws.randrange(8)
    return b"".join(
        (bytes(HEADER), frame[HEADER:place], bytes((frame[place] ^ bit,)), frame[place + 1 :])
    )
