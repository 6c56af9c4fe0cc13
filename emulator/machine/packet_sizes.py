"""The kernel parameter that lets TCP fill the packets that an interface allows.

By itself TCP makes packets of what its pace sends in a real millisecond: a link that a dilation
slows gets shorter packets, and each packet wakes up its receiver, at the cost of the receiver's CPU
quota. From Linux 5.18 on, packets on a short path are as long as the interface allows, and the
parameter says how short the path must be.
"""

from pathlib import Path

_SETTING = "net.ipv4.tcp_tso_rtt_log"
FULL = {_SETTING: "31"}
"""Every path is short: the shortest round trip, in microseconds, is shifted by so many bits."""

_FILE = Path("/proc/sys") / _SETTING.replace(".", "/")


def settable() -> bool:
    """Return whether the kernel has the parameter."""
    return _FILE.exists()
