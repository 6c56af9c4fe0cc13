"""Needs of a scenario that this host does not meet: too little of a resource, too few cores."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.checks.finding import HostCapacity
from emulator.checks.preflight import preflight
from emulator.checks.this_host import quotas, shortfalls, small_devices, tight, too_fast
from emulator.codecs import Dense
from emulator.learning.models import OwnModel
from emulator.learning.models.own_model import MeasuredMemory
from emulator.machine.host import Host
from emulator.scenario import Demand
from tests.fakes.fleets import FORTY, STEP, fleet
from tests.fakes.small_scenario import small

ROOMY = HostCapacity(cores=64, memory=64 << 30)
WANTED = Demand(
    cores=2,
    unlimited=0,
    memory=3 << 30,
    server=264 << 20,
    server_limit=300 << 20,
    evaluator_limit=1200 << 20,
    limits=4 << 30,
    largest=1 << 30,
    ports=10,
)


@pytest.mark.parametrize(
    ("wanted", "host", "severity", "words"),
    [
        (WANTED, replace(ROOMY, memory=2 << 30), "error", "needs about 3GiB, this host has 2GiB"),
        (replace(WANTED, largest=1 << 40), ROOMY, "error", "one device may take 1024GiB"),
        (
            replace(WANTED, cores=5),
            replace(ROOMY, cores=2),
            "warning",
            "2.5 times the 2 cores of this host",
        ),
        (replace(WANTED, limits=1 << 40), ROOMY, "warning", "limits add up to 1024GiB"),
        (
            replace(WANTED, kept=3 << 30),
            replace(ROOMY, disk=2 << 30),
            "warning",
            "after the run take 3GiB, and 2GiB are free here: measure less often",
        ),
    ],
)
def test_a_shortfall_says_what_there_is_too_little_of(
    wanted: Demand, host: HostCapacity, severity: str, words: str
) -> None:
    (short,) = shortfalls(wanted, host)
    assert short.severity == severity
    assert short.fatal == (severity == "error")
    assert words in str(short)
    assert shortfalls(WANTED, ROOMY) == []


def test_the_server_s_passes_count_among_the_cores() -> None:
    (short,) = shortfalls(replace(WANTED, server_cores=1), replace(ROOMY, cores=2))
    assert "add up to 3 cores, with one for the server's layers, 1.5 times the 2" in str(short)


def test_devices_below_the_measured_memory_of_an_own_model_are_told(tmp_path: Path) -> None:
    base = small().training.network
    model = OwnModel(base.name, base.task, base.layout, base.draw, base.logits, folder=tmp_path)
    nodes = [SimpleNamespace(name=f"d-{mib}", memory=mib << 20) for mib in (80, 90, 91, 512)]
    training = SimpleNamespace(model="./m.py:f", network=model, batch_size=10)
    training.codec, training.error_feedback = Dense(), False
    played: Any = SimpleNamespace(training=training, nodes=nodes)
    assert small_devices(played) == []  # not measured yet
    model.keep_memory(MeasuredMemory(71 << 20, example=2 << 20, batch_size=10, codec=0, feedback=0))
    killed, told = small_devices(played)  # 91 MiB are enough
    assert (killed.severity, told.severity) == ("error", "warning")
    assert "d-80 has a limit of" in killed.text
    assert "d-90 has a limit of" in told.text and "batches of 10" in told.text


def test_a_warning_names_the_dilation() -> None:
    (result,) = too_fast(fleet(FORTY), 2)
    assert not result.fatal and "write `time: {dilation: 5.7}`" in str(result)
    assert "want 9 cores, as far as their quotas tell" in str(result)
    assert len(too_fast(fleet(FORTY, "time: {dilation: 3.9}"), 2)) == 1
    # the devices would use 95.2 % of two cores, and 94.1 %
    assert len(too_fast(fleet(FORTY, "time: {dilation: 4.2}"), 2)) == 1
    assert too_fast(fleet(FORTY, "time: {dilation: 4.25}"), 2) == []
    assert too_fast(fleet(FORTY), 64) == []


def test_devices_without_quotas_may_want_a_core_each() -> None:
    (note,) = tight(fleet("devices: [{name: free, count: 200}]"), 2)
    assert "want 201 cores of the 2 cores of this host if all devices compute" in str(note)
    assert "If devices and server are short of processor time for over 10% of the time" in str(note)
    known = fleet("devices: [{name: free, count: 200}]", STEP)
    (warning,) = too_fast(known, 2)
    assert "short of processor time" in str(warning) and not tight(known, 2)
    alone = fleet("devices: [{name: free}]", "virtual: {step: 40ms, serve: 100ms}")
    assert too_fast(alone, 2) == [] and tight(alone, 2) == []


def test_a_rate_that_the_kernel_cannot_play_is_refused() -> None:
    link = "devices: [{name: far, link: {up: {rate: 1kbit}}}]"
    host = Host("here", 2, 64 << 30, 64 << 30, "6.18")
    refusals = preflight(fleet(link, "time: {dilation: 20}"), "docker", host, lambda s: None)
    (text,) = [str(refusal) for refusal in refusals.refusals if "rate" in str(refusal)]
    assert "devices[0].link.up.rate: 1kbit divided by the dilation 20 is not from" in text
    calm = preflight(fleet(link, "time: {dilation: 2}"), "docker", host, lambda s: None)
    assert not [refusal for refusal in calm.refusals if "rate" in str(refusal)]


SLOW = "{kind: slow, nodes: [one], factor: 5%, at: 1s, lasts: 1s}"


@pytest.mark.parametrize(
    ("cpu", "dilation", "faults", "where", "words"),
    [
        ("4%", 40, "", "", ""),
        ("4%", 100, "", "devices[0].profile.cpu", "0.04 of a core at a dilation of 100"),
        ("4%", 100, "", "devices[0].profile.cpu", "or a dilation of 40 at most"),
        ("1%", 1, "", "", ""),
        ("1%", 1, SLOW, "faults[0].factor", "0.0005 of a core is less than 0.001"),
        ("4%", 3, SLOW, "faults[0].factor", "or a dilation of 2 at most"),
        ("4%", 2, SLOW, "", ""),
    ],
)
def test_a_quota_that_no_container_can_have_is_refused(
    cpu: str, dilation: int, faults: str, where: str, words: str
) -> None:
    """The engine would give more, and the devices would be faster than asked for."""
    overrides = [f"devices[0].profile={{cpu: {cpu}}}", f"time.dilation={dilation}"]
    found = [*quotas(small(overrides=(*overrides, *([f"faults=[{faults}]"] * bool(faults)))))]
    assert [each.place for each in found] == [where] * bool(where)
    assert all(words in each.text for each in found)


def test_a_dilation_beyond_the_largest_is_not_recommended() -> None:
    """100,000 devices of a tenth of a core want 10,000 cores."""
    many = small(overrides=("devices[0].count=100000", "devices[0].profile={cpu: 10%}"))
    (found,) = too_fast(many, 2)
    assert re.search(r"want 10,00\d cores", found.text)
    assert "The largest dilation, 1000, is too little for it: use fewer devices" in found.text
    assert "dilation of" not in found.text
