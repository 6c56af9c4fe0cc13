"""Profiles: the shipped ones, one's own, and what is said of a wrong one."""

from pathlib import Path

import pytest
import yaml

from emulator.errors import ScenarioError
from emulator.scenario import load
from emulator.scenario.reading.profiles import Library
from emulator.units import Rate, Seconds
from emulator.world.faults import FAULTS
from emulator.world.links import reshaping
from emulator.world.links.link import Link, Side
from tests.fakes.small_scenario import SCENARIOS, SMALL, in_folder, small

PRESETS = """3g 1600/768/150, 3gfast 1600/768/75, 3gslow 400/400/200, 3gem 400/400/200,
2g 280/256/400, edge 240/200/420, dial 49/30/60, dsl 1500/384/25, cable 5000/1000/14,
fios 20000/5000/2, 4g 9000/9000/85, lte 12000/12000/35"""

TODAYS = """adsl2plus 24000/1400/21.3, vdsl2 50000/10000/4.3, ftth 300000/150000/1.5,
docsis31 500000/50000/7.5, 4g-median 29000/5740/33, 5g-mid-band 265800/14560/47,
5g-mmwave 618400/30800/24, starlink 87250/13540/44, geo-satellite 18130/3380/630,
cafe-wifi 4000/2000/30, lora 5.47/5.47/1050"""
"""Lines with more keys than rate and delay."""


@pytest.mark.parametrize("preset", PRESETS.replace("\n", " ").split(", "))
def test_a_preset_has_its_known_rates_and_half_its_rtt_each_way(preset: str) -> None:
    name, numbers = preset.split()
    down, up, rtt = map(float, numbers.split("/"))
    link = small(("name: one", f"name: one\n    link: {name}")).nodes[0].link
    half = Seconds.parse(f"{rtt / 2}ms")
    assert link == Link(up=Side(Rate(up * 1e3), half), down=Side(Rate(down * 1e3), half))


@pytest.mark.parametrize("preset", TODAYS.replace("\n", " ").split(", "))
def test_a_line_of_today_has_the_rates_and_the_rtt_of_its_source(preset: str) -> None:
    name, numbers = preset.split()
    down, up, rtt = map(float, numbers.split("/"))
    link = small(("name: one", f"name: one\n    link: {name}")).nodes[0].link
    assert (link.up.rate, link.down.rate) == pytest.approx((up * 1e3, down * 1e3))
    assert link.up.delay + link.down.delay == pytest.approx(rtt / 1e3)
    source = yaml.safe_load(Library(SCENARIOS).names("links")[name].read_text())["source"]
    measured = {"jitter", "loss", "loss_model"} & reshaping.plain_side(link.up).keys()
    assert "assumed" in source or not measured


def test_the_shipped_profiles_can_all_be_used() -> None:
    library = Library(SCENARIOS)
    known = {item.split()[0] for item in f"{PRESETS},{TODAYS}".split(",")}
    assert set(library.names("links")) == known
    devices, failures = library.names("devices"), library.names("failures")
    assert {"laptop", "raspberry-pi-3", "raspberry-pi-4", "jetson-nano", "phone"} <= set(devices)
    assert "flaky-home" in failures
    assert len(failures) >= 3
    for name in devices:
        device = small(("name: one", f"name: one\n    profile: {name}")).nodes[0]
        assert device.profile == name
        assert device.cpu is not None
        assert device.memory >= 192 << 20
    for name in failures:
        (profile,) = small(("name: one", f"name: one\n    failures: [{name}]")).nodes[0].failures
        assert profile.name == name
    kinds = {
        entry["kind"]
        for file in failures.values()
        for entry in yaml.safe_load(file.read_text())["faults"]
    }
    assert kinds == set(FAULTS) - {"server-crash"}  # names no devices, so no profile has it
    for file in (*devices.values(), *failures.values(), *library.names("links").values()):
        about = yaml.safe_load(file.read_text())
        assert about["description"]
        assert about["source"]


def test_a_profile_is_a_file_of_ones_own_by_name_or_path(tmp_path: Path) -> None:
    own = in_folder(
        tmp_path / "lab",
        {
            "own.yaml": SMALL.replace("name: one", "name: one\n    link: fios").replace(
                "count: 2", "count: 2, profile: ../board.yaml, failures: [odd, sub/even.yaml]"
            ),
            "profiles/links/fios.yaml": "up: {rate: 1mbit}",
            "../board.yaml": "{cpu: 150%, memory: 1GiB}",
            "../scenarios/profiles/failures/odd.yaml": "faults: [{kind: crash, every: 5min}]",
            "sub/even.yaml": "faults: [{kind: partition, every: 1min, lasts: 1s}]",
        },
    )
    item, pair, _ = load(own).nodes
    assert item.link == Link(up=Side(rate=Rate(1e6)))  # before the shipped one of that name
    assert (pair.profile, pair.cpu, pair.memory) == ("board", 1.5, 1 << 30)
    assert [profile.name for profile in pair.failures] == ["odd", "even"]


def test_a_mistake_in_a_profile_names_the_profiles_file_once(tmp_path: Path) -> None:
    own = in_folder(
        tmp_path,
        {
            "own.yaml": SMALL.replace("name: one", "name: one\n    link: bad").replace(
                "count: 2", "count: 2, link: bad, profile: broken, failures: [empty]"
            ),
            "profiles/links/bad.yaml": "description: 3\nup:\n  rate: 10Mbps\n  dleay: 3ms\n",
            "profiles/devices/broken.yaml": "cpu: [",
            "profiles/failures/empty.yaml": "",
        },
    )
    with pytest.raises(ScenarioError) as error:
        load(own)
    folder = tmp_path / "profiles"
    assert str(error.value).split("\n") == [
        f"{folder}/devices/broken.yaml:1: this is not YAML: expected the node content, but found "
        "'<stream end>' (column 7)",
        f"{folder}/failures/empty.yaml:1: a failure profile is a mapping",
        f"{folder}/links/bad.yaml:1: description: is not text",
        f"{folder}/links/bad.yaml:3: up.rate: '10Mbps': write 10mbit",
        f"{folder}/links/bad.yaml:4: up.dleay: no such key (did you mean 'delay'?)",
    ]
