"""Reno and BBR beside CUBIC in virtual time, against arithmetic and against what was measured."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import read
from analysis.reading.protocol import virtual as sentence
from emulator.runtimes.virtual.links.bbr import Bbr
from emulator.runtimes.virtual.links.cubic import INITIAL, RESTART, SEGMENT
from emulator.runtimes.virtual.links.network import CONTROLS
from emulator.runtimes.virtual.links.tcp import LinearRegrowth, Reno, Tcp
from emulator.scenario.sections.run_sections import Congestion
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link, Side
from tests.fakes.virtual.replayed_transfers import modelled
from tests.fakes.virtual_world import played

RATES = st.floats(1e4, 1e9) | st.just(math.inf)
TRIPS = st.floats(0, 0.6)
SIZES = st.floats(1, 1e8)
WINDOWS = st.floats(RESTART, 1e7)


def on(control: Congestion, rate: float, rtt: float, loss: float = 0.0) -> Tcp:
    """Half of the round trip each way."""
    half = Seconds(rtt / 2)
    there = Side(None if rate == math.inf else Rate(rate), half, loss=Fraction(loss))
    return CONTROLS[control].of(there, Side(delay=half), Side(), Side())


@pytest.mark.parametrize(
    ("rate", "delay", "size", "took"),
    [
        (50e6, 0.05, 20_000, (0.1576, 0.0890, 0.0885)),
        (50e6, 0.05, 50_000, (0.2615, 0.1048, 0.1014)),
        (50e6, 0.05, 100_000, (0.3633, 0.1204, 0.1074)),
        (50e6, 0.05, 300_000, (0.5249, 0.1221, 0.1098)),
        (50e6, 0.05, 1_000_000, (0.7014, 0.2222, 0.2154)),
        (50e6, 0.025, 300_000, (0.2626, 0.0732, 0.0731)),
        (8e6, 0.02, 100_000, (0.1566, 0.1214, 0.1214)),
        (8e6, 0.02, 1_000_000, (1.1178, 1.0643, 1.0623)),
    ],
)
def test_bbr_takes_what_was_measured(
    rate: float, delay: float, size: int, took: tuple[float, ...]
) -> None:
    """Linux 6.18 over a cable with delay; a message on a new connection, then two after pauses."""
    side = Side(Rate(rate), Seconds(delay))
    sent = [number * (0.8 + 16 * size / rate) for number in range(len(took))]
    arrived = modelled(Link(up=side, down=side), "up", size, sent, control="bbr")
    result = [end - at for at, end in zip(sent, arrived, strict=True)]
    assert result == pytest.approx(took, rel=0.08)


@given(SIZES, SIZES, RATES, TRIPS, WINDOWS)
def test_bbr_waits_longer_for_more_and_never_forgets_its_estimate(
    size: float, more: float, rate: float, rtt: float, window: float
) -> None:
    made = on("bbr", rate, rtt)
    idle, after = made.ramp(size, rate, window)
    assert after >= window == made.window(window, 3600)
    # a longer message fills the last round trip, whose part it may pace faster
    assert 0 <= idle <= made.ramp(size + more, rate, window)[0] + rtt
    again = made.ramp(size, rate, after)[0]
    assert again <= idle * (1 + 1e-9) + 1e-9


@pytest.mark.slow
@given(RATES, TRIPS, st.floats(1e-5, 0.19))
def test_loss_leaves_bbr_the_frames_that_arrive(rate: float, rtt: float, loss: float) -> None:
    assert on("bbr", rate, rtt, loss).limit(rate) == pytest.approx(rate * (1 - loss))


@given(RATES, TRIPS, st.floats(1e-5, 0.9))
def test_loss_costs_reno_no_less_than_cubic(rate: float, rtt: float, loss: float) -> None:
    reno, cubic = (on(control, rate, rtt, loss).limit(rate) for control in ("reno", "cubic"))
    assert 0 < reno <= cubic


def test_reno_is_far_behind_cubic_on_a_long_way() -> None:
    reno, cubic = (on(control, 1e9, 0.3, 1e-4).limit(1e9) for control in ("reno", "cubic"))
    assert reno < cubic / 2
    assert reno == pytest.approx(math.sqrt(1.5 / 1e-4) / 0.3 * 1514 * 8, rel=0.05)


def test_reno_grows_by_a_segment_each_round_trip_after_a_time_out() -> None:
    state, window = LinearRegrowth.after(40 * SEGMENT), RESTART
    windows = [window]
    for _ in range(9):
        window, state = state._next(window, 0.1)
        windows.append(window)
    # slow start ends at 20 segments, within a round trip
    measured = [at / SEGMENT for at in windows]
    assert measured == pytest.approx([1, 2, 4, 8, 16, 20.75, 21.75, 22.75, 23.75, 24.75])
    assert isinstance(state.begun(window), LinearRegrowth)


@pytest.mark.parametrize("control", ["reno", "bbr"])
def test_a_message_after_a_cut_comes_later_than_on_an_open_link(control: Congestion) -> None:
    side = Side(Rate(9e6), Seconds(0.085))
    link, sent = Link(up=side, down=side), [0.0, 8.0]
    free = modelled(link, "up", 500_000, sent, control=control)
    cut = modelled(link, "up", 500_000, sent, cut=(0.1, 3.0), control=control)
    assert cut[0] > 3.0 > free[0]
    # reno's window is narrower than before; bbr's is as wide as it was
    assert cut[1] > free[1] if control == "reno" else cut[1] >= free[1] - 1e-9


def test_bbr_opens_to_its_former_width_after_a_time_out() -> None:
    made = on("bbr", 50e6, 0.1)
    assert made.recover(1e6, made.pace, 20 * INITIAL)[1:] == (20 * INITIAL, None)
    assert isinstance(made, Bbr) and isinstance(on("reno", 1e6, 0.1), Reno)


@pytest.mark.slow
def test_a_run_plays_the_control_that_its_scenario_chooses(tmp_path: Path) -> None:
    """CUBIC is the control without the key."""
    logs, long = {}, "devices[1].link={up: {rate: 50mbit, delay: 150ms, loss: 0.01%}}"
    for control in ("", "cubic", "reno", "bbr"):
        chosen = [f"tcp={{congestion: {control}}}"] if control else []
        folder, _, _ = played(tmp_path / (control or "usual"), "stop.updates=40", long, *chosen)
        manifest = json.loads((folder / "manifest.json").read_text())
        assert manifest["tcp"] == (control or "modelled")
        assert control in sentence(read(folder)).lower()
        logs[control] = (folder / "run.jsonl").read_bytes()
    assert logs[""] == logs["cubic"]
    assert len(set(logs.values())) == 3
