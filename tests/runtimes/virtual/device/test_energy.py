"""Batteries in virtual time, worked out by hand: a device is off when its battery is empty."""

from pathlib import Path
from typing import Any

import pytest

from emulator.world.links.link import FRAME
from tests.fakes.plain_records import PlainRecord, read
from tests.fakes.virtual_world import played

WORLD = """
name: batteries
training: {{dataset: digits, model: digits-mlp, batch_size: 8, codec: dense}}
evaluate: {{every: 100000}}
stop: {{time: {time}}}
virtual: {{learner: none, step: 1s, boot: 2s, serve: 0s, tcp: false}}
devices: [{{name: a}}, {{name: b, profile: {{cpu: 50%}}}}]
faults: [{faults}]
"""


def world(tmp_path: Path, faults: str, time: str = "150s") -> tuple[list[PlainRecord], Any]:
    folder, summary, _ = played(tmp_path, text=WORLD.format(faults=faults, time=time))
    return list(read(folder / "run.jsonl")), summary


def struck(records: list[PlainRecord]) -> list[tuple[float, str, str]]:
    assert {r["fault"] for r in records if "begins" in r} <= {"energy"}
    return [(r["at"], r["what"], r["node"]) for r in records if "begins" in r]


def test_a_device_is_off_when_its_battery_is_empty_and_back_when_it_is_charged(
    tmp_path: Path,
) -> None:
    """It computes all the time, at 1 W and 2 J for each second of a core: 60 J last 20 s.

    From 30 s on it is charged with 5 W, and has its 30 J at 36 s. It boots and goes on, which
    takes 3 W, so that it is full at 51 s. From 60 s on the 60 J last 20 s; a day has 100 s.
    """
    battery = (
        "capacity: 60J, idle: 1W, core: 2J, back: 50%, day: 100s, "
        "recharge: [{begin: 30s, end: 1min, power: 5W}]"
    )
    records, summary = world(tmp_path, f"{{kind: energy, nodes: [a], {battery}}}")
    expected = [(20, "kill"), (36, "boot"), (80, "kill"), (136, "boot")]
    assert [(pytest.approx(at), what, "a") for at, what in expected] == struck(records)
    levels = [(r["at"], r["charge"]) for r in records if r["what"] == "battery"]
    assert levels[0] == (0, 1) and (20, 0) in levels and (36, 0.5) in levels
    assert len(levels) == len(set(levels))
    updates = [r["at"] for r in records if r["what"] == "update" and r["node"] == "a"]
    assert [at for at in updates if at < 40] == [*range(1, 21), 39]
    assert (summary["faults_realised"], summary["battery_outages"]) == (0, 2)


def test_a_quota_halves_the_power_of_the_processor(tmp_path: Path) -> None:
    records, _ = world(tmp_path, "{kind: energy, nodes: [b], capacity: 60J, idle: 1W, core: 2J}")
    assert struck(records) == [(pytest.approx(30, abs=0.1), "kill", "b")]


def test_messages_take_energy(tmp_path: Path) -> None:
    """Ten updates, and ten models before them, beside the first hello: the eleventh model."""
    faults = "{kind: energy, nodes: [a], capacity: 500J, sent: 3mJ, received: 1mJ}"
    records, _ = world(tmp_path, faults)
    ((at, _, _),) = struck(records)
    model = next(r["bytes"] for r in records if r["what"] == "pull" and r["node"] == "a")
    update = next(r for r in records if r["what"] == "update" and r["node"] == "a")
    push = sum(update[part] for part in ("values", "indices", "headers", "framing"))
    round_trip = FRAME * (3e-3 * push + 1e-3 * model)
    assert at == pytest.approx(round(500 / round_trip), abs=1)


def test_a_crash_saves_energy(tmp_path: Path) -> None:
    """Off for 10 s, and 2 s of a boot that draws as much as a step: 10 s later."""
    faults = "{kind: energy, nodes: [a], capacity: 60J, idle: 1W, core: 2J}"
    crash = "{kind: crash, nodes: [a], at: 5500ms, lasts: 10s}"
    folder, _, _ = played(tmp_path, text=WORLD.format(faults=f"{faults}, {crash}", time="50s"))
    kills = [r for r in read(folder / "run.jsonl") if r["what"] in ("kill", "boot")]
    assert [(r["at"], r["fault"]) for r in kills] == [
        (5.5, "crash"),
        (15.5, "crash"),
        (pytest.approx(30), "energy"),
    ]


def test_a_run_of_empty_batteries_ends(tmp_path: Path) -> None:
    faults = "{kind: energy, nodes: all, capacity: 60J, idle: 10W, clock: 8h}"
    records, summary = world(tmp_path, faults)
    assert [at for at, *_ in struck(records)] == [6, 6]
    assert summary["detail"] == "every device is down or cut off for good"
    assert summary["duration_s"] == 7


@pytest.mark.slow
def test_a_long_life_on_a_battery_plans_few_looks(tmp_path: Path) -> None:
    """Each message brings the end nearer; not each may plan an event of its own."""
    from emulator.runtimes.virtual.device import device_battery

    looks = 0
    look = device_battery.DeviceBattery._look

    def counted(self: Any) -> None:
        nonlocal looks
        looks += 1
        look(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_battery.DeviceBattery, "_look", counted)
        faults = "{kind: energy, nodes: all, capacity: 1kWh, idle: 1W, core: 2J, sent: 1uJ}"
        records, _ = world(tmp_path, faults, "2000s")
    assert len([r for r in records if r["what"] == "update"]) > 2500
    assert looks < 20


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ("capacity: 0J", "faults[0].capacity: 0J is no battery"),
        ("capacity: 5", "faults[0].capacity: 5 has no unit: write it in nJ"),
        ("capacity: 5J, at: 5s", "faults[0].at: the device itself finds out when"),
        ("capacity: 5J, lasts: 5s", "faults[0].lasts: the device itself finds out"),
        ("capacity: 5J, per_iteration: 5%", "per_iteration: the device itself finds out"),
        ("capacity: 5J, starts: 0%", "faults[0].starts: 0% is no charge"),
        ("capacity: 5J, day: 1ms", "faults[0].day: a day of 1ms is too short"),
        ("capacity: 5J, recharge: [{begin: 1h, end: 2h}]", "recharge[0].power: is missing"),
        ("idle: 5W", "faults[0].capacity: is missing"),
        (
            "capacity: 5J, day: 10min, recharge: [{begin: 22h, end: 6h, power: 5W}]",
            "faults[0]: recharge[0].begin is 22h, and a day has 10min: write a time of day",
        ),
        (
            "capacity: 5J, recharge: [{begin: 22h, end: 30h, power: 5W}]",
            "faults[0]: recharge[0].end is 30h, and a day has 24h: write a time of day",
        ),
    ],
)
def test_a_mistake_in_a_battery_is_named(tmp_path: Path, keys: str, place: str) -> None:
    with pytest.raises(Exception, match="faults") as error:
        world(tmp_path, f"{{kind: energy, nodes: all, {keys}}}")
    assert place in str(error.value) and len(str(error.value).splitlines()) == 1
