"""TCP congestion controls of this host's kernel: its default, and the choice that containers have.

A network namespace inherits the host's default. It may choose another control only from those that
the host allows to processes without privileges (`net.ipv4.tcp_allowed_congestion_control`). The
host's settings are read here, and never changed.
"""

from pathlib import Path

SETTING = "net.ipv4.tcp_congestion_control"
"""Kernel parameter of a network namespace: the congestion control of its new connections."""

_FOLDER = Path("/proc/sys/net/ipv4")
_ALLOWED = "net.ipv4.tcp_allowed_congestion_control"


def default() -> str:
    """Return the name of the host's congestion control, which containers inherit."""
    return _words("tcp_congestion_control")[0]


def choices() -> list[str]:
    """Return the congestion controls that containers of this host can have, sorted."""
    return sorted({default(), *_words("tcp_allowed_congestion_control")})


def refusal(control: str) -> str:
    """Return why containers of this host cannot use `control`, with the remedy; empty if they can.

    The remedy is a command for the host's administrator.
    """
    if control in choices():
        return ""
    allowed = [*_words("tcp_allowed_congestion_control"), control]
    allow = f"sysctl -w {_ALLOWED}='{' '.join(allowed)}'"
    if control in _words("tcp_available_congestion_control"):
        return f"this host does not allow {control} to containers: as root, `{allow}`"
    load = f"modprobe tcp_{control}"
    return f"this host's kernel has not loaded {control}: as root, `{load}`, then `{allow}`"


def _words(parameter: str) -> list[str]:
    return (_FOLDER / parameter).read_text(encoding="utf-8").split()
