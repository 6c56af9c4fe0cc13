"""`emulate predict`: hardware efficiency of given costs and of scenarios."""

import json
from pathlib import Path

import pytest

from emulator.costs.machine_repair import GroupCycle, queue
from tests.analysis.drawn_figures import kept, labelled
from tests.fakes.typed_commands import Emulate

COSTS = {"devices": 16, "t_conv": 1.15, "t_fc": 0.0425}

SCENARIO = """\
name: predicted
training: {dataset: digits, model: digits-mlp, batch_size: 32, codec: dense}
stop: {updates: 10}
virtual: {step: 1s, serve: 50ms, tcp: false}
devices: [{name: w, count: 8}]
"""

TABLE = """\
groups  devices each  t_conv  t_fc     formula   queue     group updates/s
1       16            1.15 s  42.5 ms  1.192 s   1.192 s   0.8386
2       8             1.15 s  42.5 ms  596.2 ms  597 ms    1.675
4       4             1.15 s  42.5 ms  298.1 ms  299.3 ms  3.341
8       2             1.15 s  42.5 ms  149.1 ms  150.7 ms  6.635
16      1             1.15 s  42.5 ms  74.53 ms  77.08 ms  12.97
saturation: 29 groups, which 16 devices cannot form
"""


@pytest.fixture
def costs(tmp_path: Path) -> Path:
    file = tmp_path / "costs.json"
    file.write_text(json.dumps(COSTS))
    return file


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "predicted.yaml"
    file.write_text(SCENARIO)
    return file


def test_given_costs_as_a_table(emulate: Emulate, costs: Path) -> None:
    result = emulate("predict", "--costs", costs)
    assert (result.code, result.err) == (0, "")
    assert [line.rstrip() for line in result.out.splitlines()] == TABLE.splitlines()


def test_given_costs_as_json(emulate: Emulate, costs: Path) -> None:
    result = emulate("predict", "--costs", costs, "--groups", "16,1,2", "--json")
    cycle = GroupCycle(1.15, (0.0425,))
    assert json.loads(result.out) == {
        "saturation": 29,
        "groups": [
            {"groups": g, "formula": pytest.approx(1.1925 / g), "queue": queue(g, cycle)}
            for g in (1, 2, 16)
        ],
    }


def test_compute_and_traffic_depend_on_the_size_of_a_group(
    emulate: Emulate, tmp_path: Path
) -> None:
    file = tmp_path / "costs.json"
    given = {"devices": 4, "t_cc": "8/1", "t_cn": 3, "t_fc": 1, "combination": "sum"}
    file.write_text(json.dumps(given))
    found = json.loads(emulate("predict", "--costs", file, "--json").out)
    assert [row["formula"] for row in found["groups"]] == [8 / 4 + 12 + 1, 11 / 2, 12 / 4]
    assert found["saturation"] == 12


def test_a_saturated_server_is_marked(emulate: Emulate, tmp_path: Path) -> None:
    file = tmp_path / "costs.json"
    file.write_text('{"devices": 4, "t_conv": 0.1, "t_fc": 0.1}')
    lines = emulate("predict", "--costs", file).out.splitlines()
    assert [line.rstrip().endswith("saturated") for line in lines[1:4]] == [False, True, True]
    assert lines[4] == "saturation: 2 groups keep the server busy all the time"


@pytest.mark.parametrize(
    ("conv", "serve", "said"),
    [
        (0, 1, "1 group keeps the server busy all the time"),
        (1, 1e-300, "more than 1,000,000 groups, and no scenario has as many devices"),
    ],
)
def test_extreme_saturation_points_are_readable(
    emulate: Emulate, tmp_path: Path, conv: float, serve: float, said: str
) -> None:
    file = tmp_path / "costs.json"
    file.write_text(json.dumps({"devices": 4, "t_conv": conv, "t_fc": serve}))
    assert emulate("predict", "--costs", file).out.splitlines()[-1] == f"saturation: {said}"


def test_a_scenario_deals_the_mini_batch_over_a_group(emulate: Emulate, scenario: Path) -> None:
    result = emulate("predict", scenario, "--json")
    assert (result.code, result.err) == (0, "")
    # equal steps of 1 s / k, then k services of 50 ms
    for row, groups in zip(json.loads(result.out)["groups"], (1, 2, 4, 8), strict=True):
        members = 8 / groups
        alone = 1 / members + 0.05 * members
        assert row["formula"] == pytest.approx(max(0.05 * members, alone / groups), rel=1e-6)
        assert row["formula"] <= row["queue"] <= alone


def test_a_barrier_sums_up_the_mini_batches(emulate: Emulate, scenario: Path) -> None:
    barrier = "training.synchronization=barrier"
    found = emulate("predict", scenario, "--set", barrier, "--groups", "1", "--json").out
    assert json.loads(found)["groups"][0]["formula"] == pytest.approx(1 + 8 * 0.05)


def test_links_make_pulls_and_pushes_longer(emulate: Emulate, scenario: Path) -> None:
    def alone(*overrides: str) -> float:
        sets = [word for override in overrides for word in ("--set", override)]
        found = emulate("predict", scenario, "--groups", "1", "--json", *sets)
        return float(json.loads(found.out)["groups"][0]["queue"])

    plain = alone()
    link = "devices[0].link={up: {rate: 1mbit, delay: 20ms}, down: {rate: 2mbit, setup: 5ms}}"
    bits = 17_226 * 4 * 8 * 1514 / 1448
    expected = plain + bits / 1e6 + bits / 2e6 + 0.025
    assert alone(link) == pytest.approx(expected, rel=0.01)
    # the server's link carries the pulls of all 8 members
    expected = plain + 8 * bits / 4e6
    assert alone("server.link={up: {rate: 4mbit}}") == pytest.approx(expected, rel=0.01)


@pytest.mark.slow
def test_a_chart_has_the_seconds_of_both_models(
    emulate: Emulate, costs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures, figure = kept(monkeypatch), tmp_path / "new" / "efficiency.png"
    result = emulate("predict", "--costs", costs, "--figure", figure)
    assert result.out.splitlines()[-1] == f"figure: {figure}"
    (panel,) = figures["efficiency.png"].axes
    assert panel.get_xlabel() == "compute groups"
    assert panel.get_ylabel() == "seconds per group update"
    rows = emulate("predict", "--costs", costs, "--json").json["groups"]
    for model in ("formula", "queue"):
        line = labelled(panel)[model]
        assert list(line.get_xdata()) == [1, 2, 4, 8, 16]
        assert list(line.get_ydata()) == pytest.approx([row[model] for row in rows])


def test_a_chart_in_another_format_is_refused(
    emulate: Emulate, costs: Path, tmp_path: Path
) -> None:
    wrong = emulate("predict", "--costs", costs, "--figure", tmp_path / "efficiency.pdf")
    assert wrong.code == 2
    assert "must end in .png" in wrong.err


WRONG = """\
{file}: t_cov: no such key (did you mean 't_conv'?)
{file}: devices: 16.5 is not a number of devices: write a whole number from 1 to 1,000,000
{file}: t_conv: is missing: seconds of a group update without the server's part
{file}: t_fc: is missing: seconds for which a group update occupies the server
"""


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ('{"devices": 16.5, "t_cov": 1}', WRONG),
        ('{"devices": 0, "t_conv": 1, "t_fc": 1}', "{file}: devices: 0 is out of range"),
        ('{"devices": "4", "t_conv": 1, "t_fc": 1}', "{file}: devices: '4' is not a number"),
        ('{"devices": 4, "t_conv": -1, "t_fc": NaN}', "{file}: t_fc: NaN is not a number"),
        ('{"devices": 4, "t_conv": -1, "t_fc": 1}', "{file}: t_conv: -1 is below zero"),
        ('{"devices": 4, "t_conv": 0, "t_fc": 0}', "{file}: t_conv, t_fc: are both 0"),
        ('{"devices": 4, "t_conv": 1, "t_fc": 1, "t_cc": 1}', "{file}: t_cc: stands beside t_conv"),
        ('{"devices": 4, "t_fc": 1, "t_cc": 1, "combination": 2}', "{file}: combination: 2 is not"),
        ("[]", "{file}: costs are a mapping with the keys devices, t_conv, t_fc"),
        ("{", "{file}:1: this is not JSON"),
    ],
)
def test_wrong_costs_end_with_all_their_mistakes(
    emulate: Emulate, tmp_path: Path, text: str, mistakes: str
) -> None:
    file = tmp_path / "costs.json"
    file.write_text(text)
    result = emulate("predict", "--costs", file)
    assert result.code == 2
    for line in mistakes.splitlines():
        assert line.replace("{file}", str(file)) in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give FILE or --costs, and not both"),
        (("--costs", "c.json", "--set", "seed=1"), "--set needs FILE"),
    ],
)
def test_contradicting_arguments_are_refused(
    emulate: Emulate, words: tuple[str, ...], message: str
) -> None:
    result = emulate("predict", *words)
    assert result.code == 2
    assert message in result.err


@pytest.mark.parametrize("groups", ["0", "17", "x", "1,,2", "²"])
def test_impossible_numbers_of_groups_are_refused(
    emulate: Emulate, costs: Path, groups: str
) -> None:
    result = emulate("predict", "--costs", costs, "--groups", groups)
    assert result.code == 2
    assert "a number of groups is from 1 to 16" in result.err


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.synchronization=bounded", "bounded makes no compute groups"),
        ("training.synchronization={kind: barrier, quorum: 50%}", "a barrier with a quorum"),
        ("virtual={step: 0s, boot: 0s}", "virtual.step: takes no time"),
    ],
)
def test_a_scenario_without_a_prediction_is_refused(
    emulate: Emulate, scenario: Path, override: str, message: str
) -> None:
    result = emulate("predict", scenario, "--set", override)
    assert result.code == 2
    assert message in result.err


def test_parts_of_the_scenario_that_do_not_count_are_named(
    emulate: Emulate, scenario: Path
) -> None:
    lines = emulate(
        *("predict", scenario, "--set", "training.pull=delta"),
        *("--set", "faults=[{kind: crash, nodes: [w-0], at: 1s, lasts: 2s}]"),
        *("--set", "devices[0].link={up: {rate: 1mbit, delay: 50ms, jitter: 1ms}}"),
        *("--set", "virtual.tcp=true"),
    ).out.splitlines()
    assert [line for line in lines if line.startswith("left out: ")] == [
        "left out: pull delta: pulls count as whole models",
        "left out: TCP's slow start on links with a rate and a delay: transfers take longer",
        "left out: jitter and loss of links",
        "left out: faults: every device is up all the time",
    ]
