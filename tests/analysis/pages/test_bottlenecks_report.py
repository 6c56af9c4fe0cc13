"""Bottlenecks in a report: whose line is shared, how busy it was, what each member got."""

from pathlib import Path

import pytest

from analysis import Run
from analysis.facts import bottlenecks
from analysis.figures import bottleneck_traffic
from analysis.pages.report import report
from analysis.pictures import drawing
from tests.fakes.runs.handmade_run import traffic_record, update, written

MEGABIT = 125_000
SCENARIO = {
    "name": "street",
    "devices": [{"name": "far"}, {"name": "home", "count": 2}, {"name": "home-7"}],
    "bottlenecks": [
        {"name": "cabinet", "up": {"rate": "10mbit"}, "down": {}, "members": ["home"]},
        {"name": "cell", "up": {}, "down": {"rate": "2mbit"}, "members": ["f*", "home-7"]},
    ],
}
LINE = [2, 9.5, 9.5, 9.5, 5, 0.5, 0.5, 0.5, 0.5, 0.5]
"""Mbit/s up of the cabinet, each second. Of these home-0 has three quarters."""


def made(folder: Path, **facts: object) -> Run:
    """A run of ten seconds."""
    records: list[dict] = [{"at": 0, "what": "start", "devices": 4}]
    for second in range(12):  # a sample after the end is not the run's
        sent = round(sum(LINE[:second]) * MEGABIT) + (MEGABIT * 100 if second > 10 else 0)
        records += [
            traffic_record(second, "home-0", 0, sent * 3 // 4),
            traffic_record(second, "home-1", 0, sent // 4),
            traffic_record(second, "cabinet", 0, sent),
            traffic_record(second, "far", MEGABIT * second, 0),
        ]
    records += [update(4.0, "home-0"), update(5.0, "home-0", updates=2), update(6.0, "home-1")]
    records.append({"at": 10.0, "what": "stop", "reason": "time"})
    return written(folder, records, scenario=SCENARIO, **facts)


def test_the_members_are_those_of_the_scenario(tmp_path: Path) -> None:
    assert bottlenecks.sentences(made(tmp_path)) == [
        "cabinet: home-0, home-1 share 10 Mbit/s up.",
        "cell: far, home-7 share 2 Mbit/s down.",
    ]


def test_a_line_is_as_busy_as_its_counters_say(tmp_path: Path) -> None:
    assert bottlenecks.lines(made(tmp_path)) == [
        ("cabinet", "up", "10", "3.8", "38 %", "3 s", "30 %"),
        ("cell", "down", "2", "–", "–", "–", "–"),  # nobody counted its bytes
    ]


def test_each_member_has_its_share(tmp_path: Path) -> None:
    assert bottlenecks.members(made(tmp_path)) == [
        ("cabinet", "home-0", "2.85", "75 %", "0", "–", "2"),
        ("cabinet", "home-1", "0.95", "25 %", "0", "–", "1"),
        ("cell", "far", "0", "–", "1", "100 %", "0"),
        ("cell", "home-7", "0", "–", "0", "0 %", "0"),
    ]


def test_many_members_are_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bottlenecks, "MOST_MEMBERS", 0)
    row = bottlenecks.members(made(tmp_path))[0]
    assert row == ("cabinet", "2 more", "3.8", "100 %", "0", "–", "3")


@pytest.mark.slow
def test_the_page_names_the_bottlenecks(tmp_path: Path) -> None:
    page = report(made(tmp_path / "one").folder).read_text()
    assert "cabinet: home-0, home-1 share 10 Mbit/s up." in page
    assert 'id="bottleneck_traffic"' in page
    without = written(tmp_path / "two", [{"at": 0, "what": "start", "devices": 1}])
    assert "ottleneck" not in report(without.folder).read_text()


def test_members_lie_on_one_another_beneath_the_line(tmp_path: Path) -> None:
    run = made(tmp_path)
    figure = drawing.render(bottleneck_traffic, bottleneck_traffic.table([run]))
    up = figure.axes[1]
    lower, upper, line = (patch.get_data() for patch in up.patches)
    assert upper.baseline == pytest.approx(lower.values)
    seconds = slice(0, 10)
    assert lower.values[seconds] == pytest.approx([0.75 * rate for rate in LINE], rel=1e-3)
    assert upper.values[seconds] == pytest.approx(LINE, rel=1e-3)
    assert line.values[seconds] == pytest.approx(LINE, rel=1e-3)
    (dashed,) = up.lines
    assert dashed.get_ydata()[0] == 10
