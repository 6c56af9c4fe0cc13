"""Every link preset and every key of a link, attached to a box that carries another link."""

import json
import os
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from emulator.cli.play.foreign_link import read_link
from emulator.scenario.reading.profiles import Library
from emulator.shaping.backend import Backend
from emulator.units import Rate, Seconds
from emulator.world.links import reshaping
from emulator.world.links.link import Link, Side
from tests.netem.box import BARE, TBF, PacketBox
from tests.netem.lab import lab
from tests.shaping.box.hostile_requests import HOSTILE
from tests.shaping.box.side_keys import KEYS

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces"),
    pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="needs /dev/net/tun"),
]

FOLLOWED = """
import json, sys
from emulator.errors import DeploymentError
from emulator.shaping.backend import Backend
from emulator.shaping.box.attachment import attach, change, connect, detach, report
from emulator.world.links import reshaping
from emulator.world.links.link import Link

path, backend = sys.argv[1], Backend.read(json.loads(sys.argv[2]))
for line in sys.stdin:
    link, refused = reshaping.read(json.loads(line)), ""
    try:
        with connect(path) as box:
            own = attach(box, "every", link, backend, changing=True)
            change(box, "every", link, Link(), backend)
            change(box, "every", Link(), link, backend)
            report(box, "every")
            detach(box, "every", own)
    except DeploymentError as error:
        refused = str(error)
    print(json.dumps(refused), flush=True)
"""
"""Attaches the network to each link of the input, changes the link twice, and detaches it."""


CHANGED = """
import sys
from tests.netem import attaching

def follow(box, *given):
    for line in sys.stdin.buffer:
        box.send(line.strip())
        print(box.recv(65536).decode())

attaching._follow = follow
sys.argv.append("--changing")
sys.exit(attaching.main())
"""
"""Attaches the network, and sends each line of the input as a request."""


def _links() -> dict[str, Link]:
    """Return a link of each preset, of each value of each key, and of each value with a rate."""
    presets = {name: read_link(name, None, None) for name in Library(Path()).names("links")}
    sides = {
        f"{key} {number}{' rated' * rated}": Side(**{"rate": Rate(1e6), **keys} if rated else keys)
        for key, values in KEYS.items()
        for number, keys in enumerate(values)
        for rated in (False, True)
    }
    return presets | {name: Link(side, side) for name, side in sides.items()}


def test_the_keys_of_a_side_all_have_values() -> None:
    keys = {each.name for each in fields(Side) if each.default is not MISSING}
    assert keys == KEYS.keys() | {"steps", "trace"}  # which the supervisor plays, by changes


def test_no_change_however_bad_ends_the_box(box: PacketBox) -> None:
    """The connection that owns a link asks for hostile changes, and the link goes on."""
    changes = [packet.replace(b'"attach"', b'"change"') for packet in filter(None, HOSTILE)]
    with lab() as here:
        words = box.words(here, Link(up=Side(delay=Seconds(0.001))), TBF, program=["-c", CHANGED])
        done = subprocess.run(words, input=b"\n".join(changes), capture_output=True)
        assert done.returncode == 0, done.stderr
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(answers) == len(changes)
        assert all("error" in answer for answer in answers)
        assert None not in here.ping(5, gap=0.002)


@pytest.mark.parametrize("backend", [TBF, BARE], ids=["tbf", "box"])
def test_every_preset_and_every_key_can_be_attached(box: PacketBox, backend: Backend) -> None:
    """The box refuses none of them, and carries the link of another container all the while."""
    links = _links()
    lines = [json.dumps(reshaping.plain(link)) for link in links.values()]
    with lab() as here, lab() as other:
        box.attach(other, Link(up=Side(delay=Seconds(0.001))), name="other")
        inside = ["ip", "netns", "exec", here.near, sys.executable, "-c", FOLLOWED]
        words = [*inside, str(box.path), json.dumps(backend.plain())]
        done = subprocess.run(words, input="\n".join(lines), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        refused = [json.loads(line) for line in done.stdout.splitlines()]
        wrong = {name: why for name, why in zip(links, refused, strict=True) if why}
        assert wrong == {}
        assert None not in other.ping(5, gap=0.002)
