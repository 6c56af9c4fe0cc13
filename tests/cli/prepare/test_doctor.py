"""`emulate doctor`: what is missing, and how to get it."""

from dataclasses import fields, replace

import pytest

from emulator.cli.prepare import doctor
from emulator.machine.host import Host
from emulator.shaping.features import Features
from tests.fakes.typed_commands import Emulate


def test_the_doctor_says_what_is_missing_and_how_to_get_it(emulate: Emulate) -> None:
    result = emulate("doctor")
    assert result.code == 1
    assert "MISS data       mnist is not here: run `emulate data mnist`" in result.out
    assert "note data       digits is not here" in result.out
    assert "MISS engine     no Docker engine answers" in result.out
    rows = emulate("doctor", "--json").json
    assert {row["what"] for row in rows} == {"host", "tensorflow", "data", "engine", "capacity"}
    assert all(
        row.keys() == {"what", "ok", "found", "remedy", "optional", "devices"} for row in rows
    )
    carried = [row["devices"] for row in rows if row["what"] == "capacity"]
    assert carried == sorted(carried) and len(carried) > 1


def test_a_machine_that_has_it_all(
    emulate: Emulate, data: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_engine", lambda: ([], []))
    result = emulate("doctor")
    assert result.code == 0
    assert "MISS" not in result.out
    assert "mnist: 200 + 200 images, sound" in result.out


def test_a_machine_that_is_full(
    emulate: Emulate, data: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Host("here", 2, 4 << 30, 1 << 30, "6.1")
    monkeypatch.setattr(Host, "here", lambda: full)
    monkeypatch.setattr(doctor, "_engine", lambda: ([], []))
    result = emulate("doctor")
    assert result.code == 1
    assert "1.0 of 4.0 GiB of memory free" in result.out
    assert "free some memory" in result.out


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ((), "rate by tbf, delay by the kernel, loss by netem"),
        (
            ("netem",),
            "rate by tbf, delay by packets held behind TAP devices (no netem here), "
            "loss by the box",
        ),
        (
            ("ifb",),
            "rate by the box, delay by packets held behind TAP devices (no ifb here), "
            "loss by the box",
        ),
        (
            ("netem", "tun"),
            "rate by tbf, delay held at the receiver (no netem, no /dev/net/tun), loss by nftables",
        ),
    ],
)
def test_the_means_of_shaping_in_words(missing: tuple[str, ...], words: str) -> None:
    every = Features(*[True] * len(fields(Features)))
    assert doctor.service(replace(every, **dict.fromkeys(missing, False))) == words
