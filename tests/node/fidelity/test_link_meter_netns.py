"""The meter of a link against real packets on this kernel, between two namespaces."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import pytest

from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link, Side
from emulator.world.links.reshaping import plain
from tests.containers.host_pace import judged, judged_each
from tests.layers import ROOT
from tests.netem.box import BARE, TBF, PacketBox, packet_box
from tests.netem.lab import Lab, Way, lab
from tests.node.link.rated_sides import RATED

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces"),
]

WAYS: tuple[Way, Way] = ("up", "down")
UNBOXED = Backend(rate="tbf", loss="nftables", cut="nftables")


SLOW = Rate(500e3)
JUDGED = {
    name: replace(RATED[name], rate=SLOW)
    for name in ("delay-0", "duplicate-0", "corrupt-0", "reorder-0", "limit-1", "overhead-0")
}
"""Sides with a rate of tbf's, plain and not, and with rates of the box's own."""


def _ask(link: Link, server: Link) -> str:
    return json.dumps({"link": plain(link), "server": plain(server), "delayed": True})


@contextmanager
def measuring(
    here: Lab, link: Link, server: Link, seconds: float
) -> Iterator["subprocess.Popen[str]"]:
    """A meter at each end of the `link`; the block gets the node's."""
    _ready(_meter(here, here.far, str(seconds + 5), _ask(server, Link())))
    yield _ready(_meter(here, here.near, str(seconds), _ask(link, server), "10.80.78.2"))


def _meter(here: Lab, inside: str, *words: str) -> "subprocess.Popen[str]":
    command = ["ip", "netns", "exec", inside, sys.executable, "-m", "tests.node.fidelity.metering"]
    child = subprocess.Popen([*command, *words], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    here.children.append(child)
    return child


def _ready(meter: "subprocess.Popen[str]") -> "subprocess.Popen[str]":
    assert meter.stdout is not None
    assert meter.stdout.readline() == "ready\n"
    return meter


def _reports(node: "subprocess.Popen[str]") -> dict[str, dict[str, Any]]:
    said, _ = node.communicate(timeout=60)
    return {fact["way"]: fact for fact in map(json.loads, said.splitlines())}


def test_a_busy_link_has_its_rate_and_an_idle_one_its_delay() -> None:
    """The cable delays by 20 ms, as if the server's link did."""
    judged(_measured, lambda reports, longer: all(_close(r, longer) for r in reports.values()))


def _measured() -> dict[str, dict[str, Any]]:
    """Reports on a link behind a slow cable, after a bulk transfer in each direction."""
    link = Link(up=Side(rate=Rate(8e6)), down=Side(rate=Rate(2e6)))
    behind = Side(delay=Seconds(0.02))
    with lab(0.02) as here:
        here.shape(access.shape(link, UNBOXED))
        with measuring(here, link, Link(behind, behind), 9.0) as node:
            here.stream("up", size=3_000_000).messages()
            here.stream("down", size=400_000).messages()
            reports = _reports(node)
    for way, asked in (("up", 8e6), ("down", 2e6)):
        assert reports[way]["requested_rate"] == asked
        assert reports[way]["requested_delay"] == 0.02
    return reports


def _close(told: dict[str, Any], longer: float) -> bool:
    enough = told.get("echoes", 0) >= 4
    return enough and _kept(told, longer) and 0.017 < told["delay"] < 0.023 * longer


def test_losses_are_counted() -> None:
    lossy = Side(loss=Fraction(0.2))
    with lab() as here:
        link = Link(lossy, lossy)
        here.shape(access.shape(link, UNBOXED))
        with measuring(here, link, Link(), 8.0) as node:
            reports = _reports(node)
    print(reports)
    for way in ("up", "down"):
        assert reports[way]["requested_loss"] == 0.2
        assert reports[way]["packets"] >= 8
    lost = sum(told["lost"] for told in reports.values())
    assert 0 < lost < 20


@pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="needs /dev/net/tun")
@pytest.mark.parametrize(
    "backend",
    [pytest.param(TBF, id="tbf", marks=pytest.mark.thorough), pytest.param(BARE, id="box")],
)
def test_the_rate_behind_a_box_is_judged_with_every_key(backend: Backend) -> None:
    """All links are busy at once, in both directions."""
    with packet_box() as box:
        judged_each(
            lambda names: _filled(box, backend, names).items(),
            JUDGED,
            lambda found, longer: all(_kept(told, longer) for told in found[1].values()),
        )


def _kept(told: dict[str, Any], longer: float) -> bool:
    return (
        told.get("busy", 0) > 0.5 and 0.98 / longer < told["rate"] / told["requested_rate"] < 1.02
    )


def _filled(
    box: PacketBox, backend: Backend, names: list[str]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the reports on a link of each of `names`, filled in both directions for 5 s."""
    with ExitStack() as stack:
        labs, meters = {name: stack.enter_context(lab()) for name in names}, {}
        for name in names:
            side = JUDGED[name]
            link, near = Link(side, side), labs[name].near
            boxed = json.dumps({"link": plain(link), "backend": backend.plain()})
            words = "9", _ask(link, Link()), "10.80.78.2", str(box.path), boxed
            meters[name] = _meter(labs[name], near, *words)
        for name, meter in meters.items():
            _ready(meter)
            for way in WAYS:
                labs[name].flood(way, 500, 0.01, 1200)  # of 960 kbit
        return {name: _reports(meter) for name, meter in meters.items()}
