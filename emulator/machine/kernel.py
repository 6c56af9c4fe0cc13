"""Settings of this host's kernel: TCP, file systems in memory, and the limit of open files.

A network namespace inherits the host's default congestion control of TCP. It may choose another
control only from those that the host allows to processes without privileges
(`net.ipv4.tcp_allowed_congestion_control`).

By itself TCP makes packets of what its pace sends in a real millisecond: a link that a dilation
slows gets shorter packets, and each packet wakes up its receiver, at the cost of the receiver's CPU
quota. From Linux 5.18 on, packets on a short path are as long as the interface allows, and a kernel
parameter says how short the path must be.
"""

import os
import resource
from pathlib import Path

CONGESTION = "net.ipv4.tcp_congestion_control"
"""Kernel parameter of a network namespace: the congestion control of its new connections."""

_ALLOWED = "net.ipv4.tcp_allowed_congestion_control"

_PACKETS = "net.ipv4.tcp_tso_rtt_log"
FULL_PACKETS = {_PACKETS: "31"}
"""Every path is short: the shortest round trip, in microseconds, is shifted by so many bits."""

PARAMETERS = Path("/proc/sys/net/ipv4")
MOUNTS = Path("/proc/self/mountinfo")

# -- TCP -------------------------------------------------------------------------------------------


def default_congestion() -> str:
    """Return the name of the host's congestion control, which containers inherit."""
    return _words("tcp_congestion_control")[0]


def congestion_choices() -> list[str]:
    """Return the congestion controls that containers of this host can have, sorted."""
    return sorted({default_congestion(), *_words("tcp_allowed_congestion_control")})


def congestion_refusal(control: str) -> str:
    """Return why containers of this host cannot use `control`, with the remedy; empty if they can.

    The remedy is a command for the host's administrator.
    """
    if control in congestion_choices():
        return ""
    allowed = [*_words("tcp_allowed_congestion_control"), control]
    allow = f"sysctl -w {_ALLOWED}='{' '.join(allowed)}'"
    if control in _words("tcp_available_congestion_control"):
        return f"this host does not allow {control} to containers: as root, `{allow}`"
    load = f"modprobe tcp_{control}"
    return f"this host's kernel has not loaded {control}: as root, `{load}`, then `{allow}`"


def fills_packets() -> bool:
    """Return whether the kernel has the parameter of `FULL_PACKETS`."""
    return (PARAMETERS / _PACKETS.rpartition(".")[2]).exists()


def _words(parameter: str) -> list[str]:
    return (PARAMETERS / parameter).read_text(encoding="utf-8").split()


# -- files -----------------------------------------------------------------------------------------


def raise_limit() -> int:
    """Raise this process's limit of open files to the highest that it may have; return the limit.

    Systems and engines begin processes with as few as 1,024. A box needs four files for each link,
    a server two for each device, and a conductor three for each node. The limit stays as it is
    where the system refuses a higher one.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        return soft
    return hard


def room_in_memory(path: Path, mounts: Path = MOUNTS) -> int:
    """Return the free bytes of the tmpfs that holds `path`; 0 if another file system does.

    Pages of a tmpfs count towards the memory limit of the container that writes them, and are not
    given back. `mounts` is a file in the format of proc(5), `/proc/[pid]/mountinfo`; without the
    file, as on other systems than Linux, no file system is known to be in memory.
    """
    from shutil import disk_usage  # late: no supervisor needs it

    device = os.stat(path).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        lines = mounts.read_text(errors="replace", encoding="utf-8").splitlines()
    except OSError:
        return 0
    # "36 35 0:44 / /runs rw,noatime shared:1 - tmpfs none rw": the type follows the lone dash
    fields = [line.partition(" - ") for line in lines]
    types = {kind.split()[0] for about, _, kind in fields if kind and number in about.split()[2:3]}
    return disk_usage(path).free if "tmpfs" in types else 0
