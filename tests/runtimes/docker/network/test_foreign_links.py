"""Links of foreign containers, with a made-up engine."""

import json
import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import NotFound

from emulator.errors import DeploymentError, HostError
from emulator.runtimes.docker.engine import owners
from emulator.runtimes.docker.network import foreign_links, link_removal
from emulator.shaping.box import carried_link, carried_links
from emulator.shaping.box.carried_links import CarriedLinks
from emulator.shaping.box.link_request import LinkRequest
from emulator.shaping.features import Features
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links import reshaping
from emulator.world.links.link import Link, Side
from tests.runtimes.docker.engine.engine_answers import unlike

LATE = Link(Side(rate=Rate(1e6), delay=Seconds(0.02)), Side(delay=Seconds(0.02)))
RATED = Link(up=Side(rate=Rate(1e6)))
TUN = Features(tbf=True, htb=True, ifb=True, nftables=True, egress=True, tun=True)
NETEM = Features(netem=True, tbf=True, htb=True, ifb=True)
NEITHER = Features(tbf=True, htb=True, ifb=True)


class Engine:
    """An engine with a container `web` on a network, and what has been made in it."""

    def __init__(self) -> None:
        self.api = self
        self.web: dict[str, Any] = {
            "Id": "f00",
            "Name": "/web",
            "HostConfig": {"NetworkMode": "bridge"},
            "State": {"Running": True, "StartedAt": "2026-01-01T00:00:00Z"},
            "NetworkSettings": {"Networks": {"bridge": {}}},
        }
        self.made: list[dict[str, Any]] = []
        self.stopped: list[str] = []
        self.volumes_: list[dict[str, Any]] = []
        self.volumes_made = SimpleNamespace(create=lambda **options: self.volumes_.append(options))
        self.status, self.said = "running", b'{"box": "ready"}\n'
        self.ending, self.last_words = 0, b""

    def inspect_container(self, name: str) -> dict[str, Any]:
        for own in self.made:
            if own["name"] == name:
                mode = {"NetworkMode": own.get("network_mode", "none")}
                return {"Name": name, "HostConfig": mode, "State": {"ExitCode": self.ending}}
        if name not in ("web", "f00"):
            raise NotFound(name)
        return self.web

    def containers(self, all: bool = False, filters: Any = None) -> list[dict[str, Any]]:
        label = filters["label"]
        wanted = [label] if isinstance(label, str) else label
        return [
            {"Id": own["name"], "Labels": own["labels"], "State": "running", "Names": []}
            for own in self.made
            if all_in(wanted, own["labels"])
        ]

    def networks(self, filters: Any) -> list[Any]:
        return []

    def volumes(self, filters: Any) -> dict[str, list[Any]]:
        return {
            "Volumes": [{"Name": own["name"], "Labels": own["labels"]} for own in self.volumes_]
        }

    def stop(self, name: str, timeout: int) -> None:
        self.stopped.append(name)

    def logs(self, name: str, stdout: bool) -> bytes:
        return b"ready\n" * stdout + self.last_words

    def remove_container(self, name: str, **options: object) -> None:
        self.made = [own for own in self.made if own["name"] != name]

    def remove_volume(self, name: str) -> None:
        self.volumes_.clear()

    def create(self, **options: Any) -> Any:
        self.made.append(options)
        return SimpleNamespace(
            start=lambda: None,
            reload=lambda: None,
            status=self.status,
            logs=lambda **how: self.said,
        )


def all_in(wanted: list[str], labels: dict[str, str]) -> bool:
    pairs = [pair.partition("=") for pair in wanted]
    return all(key in labels and value in ("", labels[key]) for key, _, value in pairs)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setattr(foreign_links, "probe", lambda client, image: TUN)
    yield Engine()


def put(engine: Engine, link: Link = LATE, **options: Any) -> Any:
    client: Any = SimpleNamespace(
        api=engine,
        containers=SimpleNamespace(create=engine.create),
        volumes=engine.volumes_made,
    )
    return foreign_links.put_behind(client, "sha256:1", "web", link, **options)


def test_the_engine_with_a_container_answers_as_the_engine_does(engine: Engine) -> None:
    put(engine)
    assert unlike(engine, "containers", "networks", "inspect_container", name="web") == []
    assert unlike(engine, "inspect_container", name=engine.made[0]["name"]) == []
    client = SimpleNamespace(api=SimpleNamespace(volumes=engine.volumes))
    assert unlike(client, "volumes") == []
    assert unlike(engine.create(name="x"), "status", "logs") == []


def test_a_link_with_a_delay_has_a_box_and_a_sidecar_with_the_device_of_taps(
    engine: Engine,
) -> None:
    assert put(engine).delay == "packets"
    box, end = engine.made
    assert box["network_mode"] == "none"
    assert box["entrypoint"] == ["python3", "-m", "emulator.shaping.box"]
    assert not box["stdin_open"]
    assert end["network_mode"] == "container:f00"
    assert (end["cap_drop"], end["cap_add"]) == (["ALL"], ["NET_ADMIN"])
    assert end["devices"] == ["/dev/net/tun"]
    assert end["mounts"] == box["mounts"]
    assert end["command"][0] == "web"  # which names the draws of its packets
    assert json.loads(end["command"][1]) == reshaping.plain(LATE)
    assert {own["labels"]["emulate.link"] for own in engine.made} == {"web"}
    assert [own["labels"]["emulate.role"] for own in engine.made] == ["box", "link"]
    assert engine.volumes_[0]["name"] == box["mounts"][0]["Source"]


@pytest.mark.parametrize(("features", "link"), [(NETEM, LATE), (TUN, RATED), (NEITHER, RATED)])
def test_a_link_in_the_kernel_has_a_sidecar_alone(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, features: Features, link: Link
) -> None:
    monkeypatch.setattr(foreign_links, "probe", lambda client, image: features)
    put(engine, link)
    (end,) = engine.made
    assert end["labels"]["emulate.role"] == "link"
    assert (end["devices"], end["mounts"], engine.volumes_) == ([], [], [])


def test_nobody_holds_the_messages_of_a_foreign_container(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(HostError, match="nobody holds"):
        put(engine, shaping="receiver")
    monkeypatch.setattr(foreign_links, "probe", lambda client, image: NEITHER)
    with pytest.raises(HostError, match="nobody holds"):
        put(engine)
    assert engine.made == []


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("State", {"Running": False}, "does not run"),
        ("HostConfig", {"NetworkMode": "host"}, "network is host"),
        ("HostConfig", {"NetworkMode": "container:1"}, "network is container:1"),
        ("NetworkSettings", {"Networks": {"a": {}, "b": {}}}, "2 networks .a, b."),
        ("NetworkSettings", {"Networks": {"a": {"GlobalIPv6Address": "fd00::2"}}}, "with IPv6"),
    ],
)
def test_a_container_that_no_link_fits(
    engine: Engine, key: str, value: dict[str, Any], message: str
) -> None:
    engine.web[key] = value
    with pytest.raises(DeploymentError, match=message):
        put(engine)
    assert engine.made == []


def test_a_second_link_is_refused(engine: Engine) -> None:
    put(engine)
    with pytest.raises(DeploymentError, match="emulate link web --remove"):
        put(engine)


def test_what_does_not_start_is_removed_and_says_why(engine: Engine) -> None:
    engine.status, engine.said = "exited", b"no packet box"
    with pytest.raises(DeploymentError, match="the box did not start: no packet box"):
        put(engine)
    assert (engine.made, engine.volumes_) == ([], [])


def test_a_link_is_undone_by_its_sidecar_before_all_goes(engine: Engine) -> None:
    put(engine)
    client: Any = SimpleNamespace(api=engine)
    run = link_removal.linked(client, "f00")
    assert run == link_removal.linked(client, "web") == engine.made[0]["labels"]["emulate.run"]
    removed = link_removal.remove_link(client, run)
    assert engine.stopped == [f"emulate-{run}-link"]
    assert (removed.containers, removed.volumes, engine.made) == (2, 1, [])
    assert link_removal.linked(client, "web") == ""


@pytest.mark.parametrize("gone", [("link",), ("link", "box")], ids=["sidecar", "both"])
def test_a_link_without_its_sidecar_gives_no_network_back(
    engine: Engine, gone: tuple[str, ...]
) -> None:
    """A container that was started again has its network, and may have another link."""
    put(engine)
    client: Any = SimpleNamespace(api=engine)
    run = link_removal.linked(client, "web")
    engine.made = [own for own in engine.made if own["labels"]["emulate.role"] not in gone]
    assert link_removal.departure(client, run) == ""
    before, volumes = list(engine.made), list(engine.volumes_)
    removed = link_removal.remove_link(client, run)
    assert engine.made == engine.volumes_ == []
    line = "web has not got its network back: its sidecar is gone: start web again"
    assert removed.left == (line,)
    engine.made, engine.volumes_ = before, volumes
    engine.web["State"]["StartedAt"] = "2026-01-02T00:00:00Z"
    assert "was started again since" in link_removal.departure(client, run)
    assert link_removal.remove_link(client, run).left == ()


@pytest.mark.parametrize(
    ("words", "why"), [(b"", "the sidecar ended with 1"), (b"no eth0\n", "no eth0")]
)
def test_a_sidecar_that_could_not_undo_its_link_gives_no_network_back(
    engine: Engine, words: bytes, why: str
) -> None:
    """The box may have died, and with it the addresses that the sidecar reads."""
    put(engine)
    client: Any = SimpleNamespace(api=engine)
    engine.ending, engine.last_words = 1, words
    removed = link_removal.remove_link(client, link_removal.linked(client, "web"))
    line = f"web has not got its network back: {why}: start web again"
    assert (removed.left, engine.made) == ((line,), [])


def test_cleaning_up_undoes_links_and_a_new_run_spares_them(engine: Engine) -> None:
    put(engine)
    client: Any = SimpleNamespace(api=engine)
    owners.remove_dead(client, lambda text: None)
    assert len(engine.made) == 2
    (owner,) = owners.owners(client)
    assert (owner.link, owner.dead) == ("web", False)
    owners.remove(client, owner)
    assert len(engine.stopped) == 1
    assert engine.made == []


HALF = Side(delay=Seconds(0.02), loss=Fraction(0.5))
FRAME = bytes(10 + 12) + b"\x08\x00" + bytes(86)


def _lost(monkeypatch: pytest.MonkeyPatch, name: str, **options: Any) -> list[list[bool]]:
    """Return which of 64 frames each direction of a link of the container `name` loses.

    A box with the words of the engine's box attaches the link of the sidecar's words.
    """
    engine = Engine()
    engine.web["Name"] = f"/{name}"
    put(engine, Link(HALF, HALF), **options)
    box, end = engine.made
    seed = int(box["command"][box["command"].index("--seed") + 1])
    monkeypatch.setattr(carried_links, "device", str)
    monkeypatch.setattr(carried_links, "is_watch", lambda end: True)
    monkeypatch.setattr(carried_link, "hand_over", lambda end, form: None)
    monkeypatch.setattr(carried_link, "call_flags", lambda end: 0)
    output: Any = None
    links = CarriedLinks(seed, lambda: 0.0, output)
    ends = [*os.pipe(), os.open(os.devnull, os.O_RDONLY)]
    carried: list[Any] = []
    monkeypatch.setattr(links.loop, "carry", carried.append)
    request = LinkRequest(
        "attach", end["command"][0], reshaping.read(json.loads(end["command"][1]))
    )
    links.answer(request, ends, owner=None)
    links.loop.close()
    (link,) = carried
    sequences = [[_loses(each.direction) for _ in range(64)] for each in link.lanes]
    link.close()
    return sequences


def _loses(direction: Any) -> bool:
    """Return whether `direction` loses the next frame."""
    before = direction.passage.fates.lost
    direction.take(FRAME, 1.0)
    return bool(direction.passage.fates.lost > before)


def test_containers_lose_different_packets_and_a_repetition_the_same(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    web, again, db = (_lost(monkeypatch, name) for name in ("web", "web", "db"))
    assert web == again
    other, repeated = (_lost(monkeypatch, "web", seed=7) for _ in range(2))
    assert other == repeated
    sequences = [*web, *db, *other]  # of both directions
    assert all(0 < sum(each) < 64 for each in sequences)
    assert len(set(map(tuple, sequences))) == 6
