"""The scenario's section `tcp`: the congestion control of every connection."""

from typing import Literal, TypeAlias

from .devices import Section

Congestion: TypeAlias = Literal["cubic", "bbr", "reno"]

USUAL: Congestion = "cubic"
"""Congestion control of virtual time for a scenario without `tcp`: most devices run it."""


class TcpSection(Section):
    """TCP of every node: the server's, the devices' and the evaluator's."""

    congestion: Congestion
    """Congestion control of all containers. The host must allow it to containers: `emulate check`
    names the command if it does not. Virtual time models it, and without `tcp` models `cubic`."""
