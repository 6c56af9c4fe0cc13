"""Checks of links that carry nothing, and of traces that are scaled beyond a link's bounds."""

from collections.abc import Iterator
from dataclasses import replace

from ...shaping.bounds import FASTEST
from ...units import Fraction, Rate
from ...world.faults import Scheduled
from ...world.links.link import SILENT, WAYS, Link, Side
from ...world.links.link_course import silent_from
from ..model import Scenario
from ..timeline.link_moments import link_faults
from .document import Address, Document

_CUT = "so the link carries nothing: to cut a link, use a partition"


def check_carrying(document: Document, scenario: Scenario) -> None:
    """Add a mistake to `document` for each link of `scenario` that never carries a packet.

    A fault that lasts may leave nothing of a link; a fault for good may not.
    """
    links: list[tuple[Address, Link]] = [(("server", "link"), scenario.server.link)]
    links += [(("devices", n, "link"), each.link) for n, each in enumerate(scenario.devices)]
    for address, link in links:
        for way in WAYS:
            for key, why in _silent(getattr(link, way)):
                document.complain((*address, way, key), why)
            _check_scale(document, (*address, way, "trace"), getattr(link, way))
    if document.mistakes:
        return
    for address, fault, group in link_faults(scenario):
        if fault.lasts is None and silent_from(group.link, fault.begin("").setting) == 0:
            for named, why in _of_fault(address, fault):
                if not document.has_mistake(named):
                    document.complain(named, f"{why}; or give `lasts`")
    for address, fault, _ in link_faults(scenario, "garble"):
        named = (*address, "messages")
        share = (fault.begin("").setting or {})["share"]
        if fault.lasts is None and share >= SILENT and not document.has_mistake(named):
            document.complain(named, f"all messages are spoilt for good, {_CUT}; or give `lasts`")


def _silent(side: Side) -> Iterator[tuple[str, str]]:
    """Yield the key by which `side` never carries a packet, with the reason; nothing otherwise."""
    if silent_from(Link(up=side)) > 0:
        return
    if side.trace is not None:
        yield "trace", f"has an outage, or loses all packets, all the time, {_CUT}"
    elif side.steps:
        yield "steps", f"all packets are lost from the begin to the end, {_CUT}"
    else:
        key = "loss" if side.loss_model is None else "loss_model"
        whole = replace(side, corrupt=Fraction(0)).silent
        yield key if whole else "corrupt", f"all packets are lost, {_CUT}"


def _of_fault(address: Address, fault: Scheduled) -> Iterator[tuple[Address, str]]:
    """Yield the places of the keys by which `fault` silences a link, with the reasons."""
    link: Link | None = getattr(fault, "link", None)
    if link is None:
        yield (*address, "loss"), f"all packets are lost for good, {_CUT}"
        return
    for way in WAYS:
        for key, why in _silent(getattr(link, way)):
            yield (*address, "link", way, key), why


def _check_scale(document: Document, address: Address, side: Side) -> None:
    """Refuse a factor that brings a rate of the trace of `side` to the fastest rate, or above."""
    if side.trace is None:
        return
    fastest = max((sample.rate or 0.0 for sample in side.trace.trace.samples), default=0.0)
    if fastest * side.trace.scale >= FASTEST:
        document.complain(
            (*address, "scale"),
            f"{side.trace.scale:g} times {Rate(fastest)} is not below {Rate(FASTEST)}, the fastest "
            "rate of a link",
        )
