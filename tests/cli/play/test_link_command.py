"""`emulate link`: the keys that it reads, and what it refuses before it looks for an engine."""

from types import SimpleNamespace

import pytest

from emulator.cli.play.foreign_link import read_link
from emulator.errors import ScenarioError
from emulator.runtimes.docker.engine import client
from emulator.runtimes.docker.engine.cleanup import Removed
from emulator.runtimes.docker.images import node_image
from emulator.runtimes.docker.network import foreign_links, link_removal
from emulator.shaping.backend import Backend
from emulator.units import Rate, Seconds
from emulator.world.links.link import Link, Side
from tests.fakes.typed_commands import Emulate

FAST = Side(rate=Rate(8e6), delay=Seconds(0.04))


def test_a_side_comes_in_the_place_of_the_profile_s() -> None:
    dsl = read_link("dsl", None, None)
    assert dsl.up.rate == 384_000
    assert read_link("dsl", "{rate: 8mbit, delay: 40ms}", None) == Link(FAST, dsl.down)
    assert read_link(None, None, "{rate: 8mbit, delay: 40ms}") == Link(down=FAST)


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(ScenarioError) as caught:
        read_link(None, "{rate: 8}", "{fog: 1}")
    text = str(caught.value)
    assert "link.up.rate: 8 has no unit" in text
    assert "link.down.fog: no such key" in text
    assert "devices" not in text


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ("{delay: 2h}", "link.up.delay: 2h is above 1h, the longest of a link"),
        ("{rate: 50bit}", "link.up.rate: 50bit is not from 100bit to below 100gbit"),
        ("{rate: 200gbit}", "link.up.rate: 200gbit is not from 100bit"),
        ("{setup: 1s}", "link.up.setup: a foreign container's messages have no set-up"),
        ("{rate: 1mbit, steps: [{at: 2s, rate: 2mbit}]}", "link.up.steps: a foreign container's"),
        ("{trace: {samples: '0 8e6, end 6'}}", "link.up.trace: a foreign container's link"),
        ("{loss: 100%}", "link.up.loss: all packets are lost"),
    ],
)
def test_a_key_that_cannot_be_played_is_refused_at_its_place(keys: str, place: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        read_link(None, keys, None)
    assert place in str(refused.value)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--seed", "7"), 2, "name a link"),
        (("--remove", "--seed", "7"), 2, "--remove takes no --seed"),
        (("--profile", "dsl", "--seed", "-1"), 2, "-1 is not in the range x>=0"),
        ((), 2, "name a link"),
        (("--shaping", "packets"), 2, "name a link"),
        (("--remove", "--up", "{rate: 1mbit}"), 2, "--remove takes no --up"),
        (("--profile", "fog"), 2, "'fog' is no link preset"),
        (("--up", "{delay: 1}"), 2, "link.up.delay: 1 has no unit"),
        (("--profile", "dsl"), 1, "no Docker engine answers"),
        (("--remove",), 1, "no Docker engine answers"),
    ],
)
def test_what_is_wrong_is_said_first(
    emulate: Emulate, words: tuple[str, ...], code: int, message: str
) -> None:
    result = emulate("link", "web", *words)
    assert result.code == code
    assert message in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("limit", "warns"), [(3, "link.up.limit: 3 packets are fewer than the 42 under way"), (50, "")]
)
def test_a_limit_that_drops_what_is_under_way_is_named(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch, limit: int, warns: str
) -> None:
    monkeypatch.setattr(client, "connect", lambda: None)
    monkeypatch.setattr(node_image, "require", lambda engine: SimpleNamespace(id="image"))
    monkeypatch.setattr(foreign_links, "put_behind", lambda *given: Backend())
    done = emulate("link", "web", "--up", f"{{rate: 10mbit, delay: 50ms, limit: {limit}}}")
    assert (done.code, "web is behind it" in done.out) == (0, True)
    assert warns in done.err if warns else not done.err


@pytest.mark.parametrize(
    ("lost", "left", "code", "out", "err"),
    [
        ("", (), 0, "link: web has its own network back\n", ""),
        ("", ("web has not got its network back",), 1, "", "emulate: web has not got its network"),
        ("does not run", (), 0, "link: web does not run: what was left of its link is removed", ""),
    ],
)
def test_what_became_of_a_removed_link_is_said(
    emulate: Emulate,
    monkeypatch: pytest.MonkeyPatch,
    lost: str,
    left: tuple[str, ...],
    code: int,
    out: str,
    err: str,
) -> None:
    monkeypatch.setattr(client, "connect", lambda: None)
    monkeypatch.setattr(link_removal, "linked", lambda engine, container: "run")
    monkeypatch.setattr(link_removal, "departure", lambda engine, run: lost)
    monkeypatch.setattr(link_removal, "remove_link", lambda engine, run: Removed(left=left))
    done = emulate("link", "web", "--remove")
    assert done.code == code
    assert done.out.startswith(out) if out else not done.out
    assert done.err.startswith(err) if err else not done.err
