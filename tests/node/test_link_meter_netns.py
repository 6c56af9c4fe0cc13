"""The meter of a link against real packets on this kernel, between two namespaces."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from emulator.shaping import access
from emulator.shaping.backend import Backend
from emulator.units import Fraction, Rate, Seconds
from emulator.world.link import Link, Side
from emulator.world.reshaping import plain
from tests.netem.lab import Lab, lab

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces"),
]

ROOT = Path(__file__).parents[2]
TRIES = 3
TBF = Backend(rate="tbf", loss="nftables", cut="nftables")


def _ask(link: Link, server: Link) -> str:
    return json.dumps({"link": plain(link), "server": plain(server), "delayed": True})


@contextmanager
def measuring(
    here: Lab, link: Link, server: Link, seconds: float
) -> Iterator["subprocess.Popen[str]"]:
    """A meter at each end of the `link`; the block gets the node's."""

    def start(inside: str, *words: str) -> "subprocess.Popen[str]":
        command = ["ip", "netns", "exec", inside, sys.executable, "-m", "tests.node.metering"]
        child = subprocess.Popen([*command, *words], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        here.children.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        return child

    start(here.far, str(seconds + 5), _ask(server, Link()))
    yield start(here.near, str(seconds), _ask(link, server), "10.80.78.2")


def _reports(node: "subprocess.Popen[str]") -> dict[str, dict[str, Any]]:
    said, _ = node.communicate(timeout=60)
    return {fact["way"]: fact for fact in map(json.loads, said.splitlines())}


def test_a_busy_link_has_its_rate_and_an_idle_one_its_delay() -> None:
    """The cable delays by 20 ms, as if the server's link did. A host with other work disturbs a
    measurement now and then, but not three in a row."""
    link = Link(up=Side(rate=Rate(8e6)), down=Side(rate=Rate(2e6)))
    for _ in range(TRIES):
        reports = _measured(link)
        print(reports)
        for way, asked in (("up", 8e6), ("down", 2e6)):
            assert reports[way]["requested_rate"] == asked
            assert reports[way]["requested_delay"] == 0.02
        if all(_close(told) for told in reports.values()):
            return
    raise AssertionError(f"off {TRIES} times in a row: {reports}")


def _measured(link: Link) -> dict[str, dict[str, Any]]:
    """Reports on `link` behind a slow cable, after a bulk transfer in each direction."""
    behind = Side(delay=Seconds(0.02))
    with lab(0.02) as here:
        here.shape(access.shape(link, TBF))
        with measuring(here, link, Link(behind, behind), 9.0) as node:
            here.stream("up", size=3_000_000).messages()
            here.stream("down", size=400_000).messages()
            return _reports(node)


def _close(told: dict[str, Any]) -> bool:
    rate = abs(told.get("rate", 0.0) / told["requested_rate"] - 1) < 0.02
    enough = told.get("busy", 0.0) > 0.5 and told.get("echoes", 0) >= 4
    return rate and enough and abs(told["delay"] - 0.02) < 3e-3


def test_losses_are_counted() -> None:
    lossy = Side(loss=Fraction(0.2))
    with lab() as here:
        link = Link(lossy, lossy)
        here.shape(access.shape(link, TBF))
        with measuring(here, link, Link(), 8.0) as node:
            reports = _reports(node)
    print(reports)
    for way in ("up", "down"):
        assert reports[way]["requested_loss"] == 0.2
        assert reports[way]["packets"] >= 8
    lost = sum(told["lost"] for told in reports.values())
    assert 0 < lost < 20
