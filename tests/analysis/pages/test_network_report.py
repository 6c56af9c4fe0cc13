"""Networks and background traffic in a report: how busy each link was, and the bands of others."""

from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from analysis import Run
from analysis.facts import bottlenecks, network
from analysis.figures import bottleneck_traffic, device_traffic, network_load
from analysis.pages.report import report
from analysis.pictures import drawing
from analysis.pictures.network_graph import DrawnNetwork, LoadedLink, _places, draw_network
from tests.fakes.runs.handmade_run import traffic_record, written

MEGABIT = 125_000
SCENARIO = {
    "name": "ring",
    "devices": [{"name": "home", "count": 2}],
    "bottlenecks": [
        {"name": "street", "up": {"rate": "8mbit"}, "down": {}, "members": ["home-0"]},
    ],
    "network": {
        "routers": ["a", "b", "c"],
        "links": [
            {"name": "a-b", "between": ["a", "b"], "up": {"rate": "4mbit"}, "down": {}},
            {"name": "b-c", "between": ["b", "c"], "up": {}, "down": {"rate": "2mbit"}},
        ],
    },
}
MANIFEST = {"network": {"server": "b", "devices": {"a": 1, "c": 1}}}


def background(at: float, node: str, rx: int, tx: int) -> dict:
    return {**traffic_record(at, node, rx, tx), "what": "background"}


def made(folder: Path) -> Run:
    """A run of ten seconds, in which home-0 sends 1 mbit and home-1 receives 2, beside a stream of
    3 mbit."""
    records: list[dict] = [{"at": 0, "what": "start", "devices": 2}]
    for second in range(11):
        bits = second * MEGABIT
        records += [
            traffic_record(second, "home-0", 0, bits),
            traffic_record(second, "home-1", 2 * bits, 0),
            traffic_record(second, "street", 0, bits),
            traffic_record(second, "a-b", 0, bits),
            traffic_record(second, "b-c", 2 * bits, 0),
            background(second, "home-0", 0, 3 * bits),
            background(second, "street", 0, 3 * bits),
            background(second, "a-b", 0, 3 * bits),
        ]
    records.append({"at": 10.0, "what": "stop", "reason": "time"})
    return written(folder, records, scenario=SCENARIO, manifest=MANIFEST)


def test_the_load_of_a_link_has_the_traffic_of_all(tmp_path: Path) -> None:
    assert network.rows(made(tmp_path)) == [
        ("a-b", "a → b", "4", "4", "100 %", "10 s", "100 %"),
        ("b-c", "c → b", "2", "2", "100 %", "10 s", "100 %"),
    ]


def test_a_line_is_full_by_the_traffic_of_all_and_a_member_has_its_own(tmp_path: Path) -> None:
    run = made(tmp_path)
    assert bottlenecks.lines(run) == [("street", "up", "8", "4", "50 %", "0.00 s", "0 %")]
    (member,) = bottlenecks.members(run)
    assert member[:4] == ("street", "home-0", "1", "100 %")


def test_the_figure_has_routers_and_loads(tmp_path: Path) -> None:
    table = network_load.table([made(tmp_path)])
    links = table[table["kind"] == "link"]
    assert list(links["up"]) == pytest.approx([1.0, float("nan")], nan_ok=True)
    assert links["down"].iloc[1] == pytest.approx(1.0)
    routers = table[table["kind"] == "router"]
    assert list(routers["server"]) == [False, True, False]
    assert list(routers["devices"]) == [1, 0, 1]
    figure = drawing.render(network_load, table)
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert {"a · 1", "b · server", "c · 1", "100%"} <= texts


def test_background_traffic_is_a_band_on_top(tmp_path: Path) -> None:
    run = made(tmp_path)
    device = drawing.render(device_traffic, device_traffic.table([run]))
    own, _, band = device.axes[1].patches
    assert band.get_data().baseline == pytest.approx(own.get_data().values)
    assert max(band.get_data().values) == pytest.approx(4.0)
    line = drawing.render(bottleneck_traffic, bottleneck_traffic.table([run]))
    member, band, shared = (patch.get_data() for patch in line.axes[1].patches)
    assert band.baseline == pytest.approx(member.values)
    assert max(band.values) == pytest.approx(4.0)
    assert max(shared.values) == pytest.approx(1.0)
    for figure in (device, line):
        legends = figure.findobj(Legend)
        words = [text.get_text() for legend in legends for text in legend.get_texts()]
        assert "background traffic" in words


@pytest.mark.slow
def test_the_page_has_the_network(tmp_path: Path) -> None:
    page = report(made(tmp_path / "one").folder).read_text()
    assert 'id="network_load"' in page and "a → b" in page
    without = written(tmp_path / "two", [{"at": 0, "what": "start", "devices": 1}])
    assert "<h3>Network" not in report(without.folder).read_text()


@pytest.mark.parametrize("count", [1, 2, 3, 12])
def test_routers_of_a_line_lie_in_its_order(count: int) -> None:
    names = [f"r{number}" for number in range(count)]
    pairs = pairwise(names)
    links = [LoadedLink(first, second, None, None) for first, second in pairs]
    places = _places(DrawnNetwork(names, links, "r0", {}))
    across = [float(places[name][0]) for name in names]
    assert across in (sorted(across), sorted(across, reverse=True))
    if count > 1:
        gaps = {round(abs(b - a), 6) for a, b in pairwise(across)}
        assert gaps == {1.0}


def test_a_link_has_the_colour_that_the_scale_has_for_its_share() -> None:
    links = [LoadedLink("a", "b", 0.5, 1.0)]
    figure = Figure()
    draw_network(DrawnNetwork(["a", "b"], links, "b", {"a": 1}), figure.subplots())
    ax, bar = figure.axes
    drawn = [to_rgba(line.get_color()) for line in ax.lines[:2]]
    scale = bar._colorbar.mappable  # type: ignore[attr-defined]
    assert drawn == [pytest.approx(scale.to_rgba(share)) for share in (0.5, 1.0)]
