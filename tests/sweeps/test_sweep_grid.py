"""Grids: every combination, and every mistake of every point once."""

from pathlib import Path

import pytest

from emulator.errors import ScenarioError
from emulator.scenario import load
from emulator.sweeps import Axis, Grid, Point, folder_name
from tests.fakes.sweeps.made_up_sweeps import SCENARIO, rates


@pytest.mark.parametrize(
    "text, values",
    [
        ("a.b=1", ("1",)),
        ("a.b=0.01, 0.03,1e-1", ("0.01", "0.03", "1e-1")),
        ("a={kind: topk, keep: 1%},dense", ("{kind: topk, keep: 1%}", "dense")),
        ("a=[1, [2, 3]],[4]", ("[1, [2, 3]]", "[4]")),
        ("a='x,y',\"z,\"", ("'x,y'", '"z,"')),
        ("a='{',b", ("'{'", "b")),
        ("a=b=c,d", ("b=c", "d")),
    ],
)
def test_an_axis_as_one_types_it(text: str, values: tuple[str, ...]) -> None:
    assert Axis.parse(text).values == values


def test_every_combination_with_every_seed(sweep_file: Path) -> None:
    over = ("training.learning_rate=0.1,0.2", "training.codec.keep=1%,0.5%,2%")
    points = Grid(sweep_file, ("stop.updates=7",), over, seeds=2).points()
    assert len(points) == len({point.label for point in points}) == 12
    assert points[1].label == "training.learning_rate=0.1,training.codec.keep=1%,seed=5"
    assert [point.scenario.seed for point in points] == [4, 5] * 6
    assert [point.scenario.training.learning_rate for point in points] == [0.1] * 6 + [0.2] * 6
    for point in points:
        words = [f"{path}={value}" for path, value in point.values.items()]
        seed = f"seed={point.scenario.seed}"
        assert point.scenario == load(sweep_file, ["stop.updates=7", *words, seed])
        assert point.name == point.label


def test_a_grid_may_choose_the_seeds_itself(sweep_file: Path) -> None:
    points = Grid(sweep_file, over=("seed=9,2",)).points()
    assert [(point.label, point.scenario.seed) for point in points] == [
        ("seed=9", 9),
        ("seed=2", 2),
    ]


def test_every_mistake_of_every_point_once(sweep_file: Path) -> None:
    over = (
        "training.learning_rate=0.1,-1",
        "training.codec.keep=1%,200%,0.5%",
        "stop.updtes=4",
        "devices[7].count=1",
        "training.learning_rate=3",
        "seed=1,2",
        "training.batch_size=10,,20",
        "evaluate.every=5,7,5",
        "nonsense",
    )
    with pytest.raises(ScenarioError) as refused:
        Grid(sweep_file, over=over, seeds=3).points()
    lines = str(refused.value).splitlines()
    for beginning in (
        "--over training.learning_rate=-1: training.learning_rate: ",
        "--over training.codec.keep=200%: training.codec.keep: ",
        "--over stop.updtes=4: stop.updtes: ",
        "--over devices[7].count=1: devices has no entry [7]",
        "--over training.learning_rate=3: this key has an --over already",
        "--over seed=1,2: --seeds varies the seed too",
        "--over training.batch_size=10,,20: has an empty value",
        "--over evaluate.every=5,7,5: has 5 twice",
        "--over nonsense: write PATH=VALUE,VALUE,…",
    ):
        assert len([line for line in lines if line.startswith(beginning)]) == 1, beginning
    assert len(lines) == 9


def test_a_mistake_in_the_file_is_told_once(sweep_file: Path) -> None:
    sweep_file.write_text(SCENARIO.replace("1mbit", "1Mbps"))
    with pytest.raises(ScenarioError) as refused:
        rates(sweep_file, 0.1, 0.2, seeds=2)
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"{sweep_file}:8: devices[0].link.up.rate: ")


def test_a_mistake_of_a_combination_says_of_which(sweep_file: Path) -> None:
    sweep_file.write_text(SCENARIO + "faults:\n  - {kind: crash, nodes: [near-2], at: 5s}\n")
    with pytest.raises(ScenarioError) as refused:
        Grid(sweep_file, over=("devices[0].count=2,3", "evaluate.every=5,7")).points()
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"{sweep_file}:10: faults[0].nodes[0]: ")
    assert line.endswith(" (with --over devices[0].count=2 --over evaluate.every=5)")


def test_the_folder_is_named_by_scenario_and_grid_but_not_by_seeds(sweep_file: Path) -> None:
    name = folder_name(rates(sweep_file, 0.1, 0.2))
    assert name.startswith("pair-")
    assert folder_name(rates(sweep_file, 0.1, 0.2, seeds=3)) == name
    others = [
        rates(sweep_file, 0.1),
        rates(sweep_file, 0.1, 0.3),
        Grid(sweep_file, over=("seed=4",)).points(),
        Grid(sweep_file, ("stop.updates=41",), ("training.learning_rate=0.1,0.2",)).points(),
    ]
    assert len({name, *map(folder_name, others)}) == 5


@pytest.mark.parametrize("label", ["a/b", ".hidden", "..", "ü", "x" * 300, "{kind: topk}", "a\nb"])
def test_any_label_becomes_a_folder_of_its_own(sweep_file: Path, label: str) -> None:
    scenario = load(sweep_file)
    name = Point(label, scenario).name
    assert "/" not in name and not name.startswith(".") and len(name.encode()) < 256
    assert name != Point(f"{label}'", scenario).name
    assert Point(name, scenario).name == name
