"""The scenario's section `tcp`: the congestion control of every connection."""

from typing import Literal, TypeAlias

from .devices import Section

Congestion: TypeAlias = Literal["cubic", "bbr", "reno"]

MODELLED: Congestion = "cubic"
"""Congestion control of virtual time."""


class TcpSection(Section):
    """TCP of every node: the server's, the devices' and the evaluator's."""

    congestion: Congestion
    """Congestion control of all containers. The host must allow it to containers: `emulate check`
    names the command if it does not. Virtual time models `cubic`, and says so for another."""
