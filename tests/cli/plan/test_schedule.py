"""`emulate schedule`: plans of every schedule, for a scenario's devices or for given costs."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from emulator.cli.plan.planned_schedules import number, seconds, segments
from emulator.costs.calibration.record import LayerSeconds
from emulator.world.links.link import FRAME
from tests.analysis.drawn_figures import kept, legend
from tests.fakes.typed_commands import Emulate

# algorithms.md, C.4: the worked example of which the middle schedule is strictly best
C4 = {"setup": 2, "pull": [1, 1, 2], "forward": [1, 3, 1], "backward": [2, 6, 2], "push": [1, 1, 2]}

TABLE = """\
c4: 3 layers, set-up 2 s, pull 4 s, forward 5 s, backward 10 s, push 4 s
schedule        pull     push     T_f   T_b   iteration  hidden       speed-up
dynacomm        1-2, 3   3, 1-2   9 s   14 s  23 s       8 s (50 %)   1.17
sequential      1-3      1-3      11 s  16 s  27 s       0 s (0 %)    1.00
layer-by-layer  1, 2, 3  3, 2, 1  11 s  14 s  25 s       10 s (50 %)  1.08
ibatch          1-2, 3   3, 1-2   9 s   14 s  23 s       8 s (50 %)   1.17
"""

SCENARIO = """\
name: planned
training: {dataset: digits, model: digits-mlp, batch_size: 32, codec: dense}
stop: {updates: 10}
virtual: {step: 60ms, layers: {forward: [1, 1, 1], backward: [2, 2, 2]}}
devices:
  - {name: near, count: 3, link: {up: {rate: 4mbit, setup: 2ms}, down: {rate: 8mbit}}}
  - {name: far, link: {up: {rate: 1mbit}, down: {rate: 1mbit, setup: 5ms}}, profile: {cpu: 50%}}
"""
LAYERS = (8320, 8256, 650)
"""Parameters of each layer of `digits-mlp`."""


@pytest.fixture
def costs(tmp_path: Path) -> Path:
    file = tmp_path / "c4.json"
    file.write_text(json.dumps(C4))
    return file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "planned.yaml"
    file.write_text(SCENARIO)
    return file


def test_the_worked_example_as_a_table(emulate: Emulate, costs: Path) -> None:
    result = emulate("schedule", "--costs", costs)
    assert (result.code, result.err) == (0, "")
    assert [line.rstrip() for line in result.out.strip().splitlines()] == TABLE.splitlines()


def test_the_worked_example_for_scripts(emulate: Emulate, costs: Path) -> None:
    (device,) = emulate("schedule", "--costs", costs, "--json").json["devices"]
    assert device == {
        "device": "c4",
        **C4,
        "schedules": {
            "dynacomm": plan([[1, 2], [3]], [[3], [1, 2]], 9, 14),
            "sequential": plan([[1, 3]], [[1, 3]], 11, 16),
            "layer-by-layer": plan([[1], [2], [3]], [[3], [2], [1]], 11, 14),
            "ibatch": plan([[1, 2], [3]], [[3], [1, 2]], 9, 14),
        },
    }


def plan(pull: list[list[int]], push: list[list[int]], there: Any, back: Any) -> dict[str, Any]:
    return {"pull": pull, "push": push, "t_forward": there, "t_backward": back}


def test_the_example_in_which_greed_loses(emulate: Emulate, tmp_path: Path) -> None:
    file = tmp_path / "greed.json"
    pull, forward = [6, 1, 6, 3], [5, 5, 1, 5]
    costs = {"setup": 3, "pull": pull, "forward": forward, "backward": forward, "push": pull}
    file.write_text(json.dumps(costs))
    (device,) = emulate("schedule", "--costs", file, "--json").json["devices"]
    times = {kind: found["t_forward"] for kind, found in device["schedules"].items()}
    assert times == {"dynacomm": 28, "ibatch": 30, "layer-by-layer": 33, "sequential": 35}
    assert device["schedules"]["dynacomm"]["pull"] == [[1, 2], [3, 4]]


def test_fractions_are_planned_exactly(emulate: Emulate, tmp_path: Path) -> None:
    file = tmp_path / "thirds.json"
    file.write_text(
        '{"setup": {"pull": "1/3", "push": 0.1}, "pull": ["7/3"], "forward": [0.1],'
        ' "backward": [0.2], "push": ["1/6"]}'
    )
    (device,) = emulate("schedule", "--costs", file, "--json").json["devices"]
    assert device["setup"] == {"pull": "1/3", "push": 0.1}
    assert (device["pull"], device["forward"]) == (["7/3"], [0.1])
    # 1/3 + 7/3 + 1/10, and 1/5 + 1/10 + 1/6
    assert device["schedules"]["dynacomm"] == plan([[1]], [[1]], "83/30", "7/15")


def test_a_wrong_costs_file_ends_with_all_its_mistakes(emulate: Emulate, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text('{"setup": -1, "pull": [], "forward": [1], "backward": [1], "push": [1]}')
    result = emulate("schedule", "--costs", file)
    assert result.code == 2
    assert [line.split(": ")[:2] for line in result.err.splitlines()] == [
        [str(file), "setup"],
        [str(file), "pull"],
    ]


def test_a_scenario_is_planned_once_a_group(emulate: Emulate, file: Path) -> None:
    near, far = emulate("schedule", file, "--json").json["devices"]
    assert (near["device"], far["device"]) == ("near", "far")
    pace = 8 * FRAME / 8e6
    assert near["pull"] == pytest.approx([4 * size * pace for size in LAYERS])
    assert near["push"] == pytest.approx([8 * size * pace for size in LAYERS])
    assert near["forward"] == pytest.approx([60e-3 / 9] * 3)
    assert far["backward"] == pytest.approx([4 * 60e-3 / 9] * 3)  # half a core
    # a message's head is a part of its set-up
    assert 2e-3 < near["setup"]["push"] < 3e-3
    assert far["setup"]["pull"] == pytest.approx(5e-3 + 8 * near["setup"]["pull"])
    for device in (near, far):
        planned = device["schedules"]
        for phase in ("t_forward", "t_backward"):
            assert (
                planned["dynacomm"][phase] <= min(each[phase] for each in planned.values()) + 1e-12
            )


def test_a_scenarios_table_names_its_groups(emulate: Emulate, file: Path) -> None:
    out = emulate("schedule", file).out
    assert "near: 3 layers, set-up " in out
    assert "far: 3 layers, set-up " in out


@pytest.mark.parametrize(("chosen", "names"), [("near-1", ["near-1"]), ("far", ["far"])])
def test_a_single_device(emulate: Emulate, file: Path, chosen: str, names: list[str]) -> None:
    devices = emulate("schedule", file, "--device", chosen, "--json").json["devices"]
    assert [device["device"] for device in devices] == names


def test_an_unknown_device_is_refused(emulate: Emulate, file: Path) -> None:
    result = emulate("schedule", file, "--device", "neer")
    assert result.code == 2
    assert "'neer' is no device (did you mean 'near'?)" in result.err


def test_a_given_step_grows_with_the_batch(emulate: Emulate, file: Path) -> None:
    near, _ = emulate("schedule", file, "--batch-size", 64, "--json").json["devices"]
    assert near["forward"] == pytest.approx([2 * 60e-3 / 9] * 3)


def test_costs_stand_for_every_device_of_a_scenario(
    emulate: Emulate, file: Path, costs: Path
) -> None:
    devices = emulate("schedule", file, "--costs", costs, "--json").json["devices"]
    assert [(device["device"], device["pull"]) for device in devices] == [
        ("near", C4["pull"]),
        ("far", C4["pull"]),
    ]


def test_a_layer_table_is_planned_by_multiply_adds(emulate: Emulate, tmp_path: Path) -> None:
    file = tmp_path / "net.yaml"
    text = SCENARIO.replace("model: digits-mlp", "model: {layers: googlenet}")
    file.write_text(text.replace(", layers: {forward: [1, 1, 1], backward: [2, 2, 2]}", ""))
    near, _ = emulate("schedule", file, "--json").json["devices"]
    assert len(near["pull"]) == 58
    assert sum(near["forward"]) == pytest.approx(20e-3)
    assert near["backward"] == pytest.approx([2 * time for time in near["forward"]])


def test_a_file_without_times_is_planned_by_calibration(
    emulate: Emulate, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int]] = []

    def seconds(model: str, batch_size: int, tell: Callable[[str], None]) -> LayerSeconds:
        asked.append((model, batch_size))
        tell("measuring")
        return LayerSeconds("here", "this", model, batch_size, (1.0, 1.0, 2.0), (2.0, 2.0, 2.0))

    monkeypatch.setattr("emulator.costs.calibration.layer_seconds", seconds)
    text = file.read_text().replace(", layers: {forward: [1, 1, 1], backward: [2, 2, 2]}", "")
    file.write_text(text)
    result = emulate("schedule", file, "--batch-size", 16, "--json")
    near, _ = result.json["devices"]
    assert asked == [("digits-mlp", 16)]
    assert result.err == "measuring ...\n"
    assert near["forward"] == pytest.approx([3e-3, 3e-3, 6e-3])  # of a step of 30 ms


def test_a_layer_table_without_a_step_is_refused(emulate: Emulate, tmp_path: Path) -> None:
    file = tmp_path / "net.yaml"
    text = SCENARIO.replace("model: digits-mlp", "model: {layers: googlenet}")
    file.write_text("".join(line for line in text.splitlines(True) if "virtual" not in line))
    result = emulate("schedule", file)
    assert result.code == 2
    assert "virtual.step: is missing: 'googlenet' is a layer table" in result.err


def test_updates_that_cannot_be_cut_are_refused(emulate: Emulate, file: Path) -> None:
    result = emulate("schedule", file, "--set", "training.synchronization=fedavg")
    assert result.code == 2
    assert "sends the gradient of each layer as soon as it is computed" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give FILE, --costs, or both"),
        (("--costs", "c4.json", "--device", "near"), "--set, --device and --batch-size need FILE"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    emulate: Emulate, costs: Path, words: tuple[str, ...], message: str
) -> None:
    result = emulate("schedule", *words)
    assert result.code == 2
    assert message in result.err


@pytest.mark.slow
def test_a_gantt_chart_is_drawn(
    emulate: Emulate, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chart for each group of devices, with the iteration of each schedule that is printed."""
    figures, figure = kept(monkeypatch), tmp_path / "plans" / "plan.png"
    result = emulate("schedule", file, "--figure", figure)
    assert (result.code, result.out.splitlines()[-1]) == (0, f"figure: {figure}")
    _, near, far = figures["plan.png"].axes
    assert (near.get_ylabel(), far.get_ylabel()) == ("near", "far")
    assert legend(near) == ["pull", "forward pass", "backward pass", "push"]
    plans = emulate("schedule", file, "--json").json["devices"]
    for panel, group in ((near, plans[0]), (far, plans[-1])):
        titles = [text.get_text() for text in panel.texts if ": " in text.get_text()]
        turns = [line.get_xdata()[0] for line in panel.get_lines()]
        planned = [group["schedules"][title.partition(":")[0]] for title in titles]
        assert len(planned) == 4
        assert turns == pytest.approx([1e3 * plan["t_forward"] for plan in planned])


@pytest.mark.parametrize("name", ["plan.txt", "plan"])
def test_a_chart_in_another_format_is_refused(emulate: Emulate, file: Path, name: str) -> None:
    result = emulate("schedule", file, "--figure", name)
    assert result.code == 2
    assert f"'{name}' must end in .png" in result.err


def test_a_chart_of_too_many_devices_is_refused(emulate: Emulate, file: Path) -> None:
    more = [f"  - {{name: more-{number}}}" for number in range(20)]
    file.write_text(SCENARIO + "\n".join(more))
    result = emulate("schedule", file, "--figure", "plan.png")
    assert result.code == 2
    assert "a chart shows 20 devices at most, not 22: choose one with --device" in result.err


def test_times_and_segments_in_words() -> None:
    assert list(map(seconds, (0, 2, 0.0125, 3e-6, 1e-9, 1234.56))) == [
        *("0 s", "2 s", "12.5 ms", "3 us", "0.001 us", "1235 s")
    ]
    many = tuple((number, number) for number in range(1, 10))
    assert segments(((1, 2), (3, 3))) == "1-2, 3"
    assert segments(many) == "1, 2, 3, … 9 (9 segments)"
    assert segments(many[:8]) == "1, 2, 3, 4, 5, 6, 7, 8"


def test_numbers_are_exact_or_texts() -> None:
    exact = [Fraction(3), Fraction("2.5"), Fraction("0.1"), Fraction(1, 3), Fraction(1, 2**60)]
    assert list(map(number, exact)) == [3, 2.5, 0.1, "1/3", f"1/{2**60}"]
    assert number(0.1) == 0.1
