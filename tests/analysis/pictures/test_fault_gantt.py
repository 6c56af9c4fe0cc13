"""The picture of planned faults: devices struck, styles of kinds, lanes of faults that overlap."""

from pathlib import Path

import pandas as pd

from analysis.pictures import fault_gantt, raster, theme
from analysis.pictures.fault_gantt import Lane, fault_lanes, held, png
from emulator.world.faults import FAULTS


def test_a_device_counts_once_however_many_faults_hold_it() -> None:
    rows = [
        ("a", "crash", 1.0, 4.0),
        ("a", "pause", 2.0, 6.0),
        ("a", "pause", 2.5, 3.0),
        ("b", "crash", 5.0, None),
        ("b", "crash", 7.0, 9.0),
    ]
    times, counts = held(rows, 10.0)
    at = dict(zip(times, counts, strict=True))
    assert [at[time] for time in (0.0, 1.0, 4.0, 5.0, 6.0, 10.0)] == [0, 1, 1, 2, 1, 0]


def test_every_kind_has_a_colour_and_a_hatch_of_its_own() -> None:
    assert FAULTS.keys() <= theme.FAULTS.keys(), (
        "add the kind to FAULTS in analysis/pictures/theme.py"
    )
    assert len({*theme.FAULTS.values()}) == len(theme.FAULTS)
    hatches = {kind: theme.fault_hatch(kind) for kind in theme.FAULTS}
    assert hatches["partition"] != hatches["crash"] is None


def test_nothing_planned_is_a_picture_too(tmp_path: Path) -> None:
    assert png([], ["a"], 10.0, tmp_path / "plan.png").stat().st_size > 1000


def test_the_server_is_no_device() -> None:
    rows = [("server", "server-crash", 1.0, 4.0), ("a", "crash", 2.0, None)]
    times, counts = held(rows, 10.0)
    assert dict(zip(times, counts, strict=True)) == {0.0: 0, 2.0: 1, 10.0: 0}
    keys = [key.get_label() for key in fault_gantt._keys(rows, [], batteries=3)]
    assert keys == [
        "server-crash: 1 on the server",
        "crash: 1 on 1 device",
        "energy: not drawn, depends on the work of 3 devices",
    ]


def test_faults_at_the_same_time_have_lanes_of_their_own() -> None:
    pause, slow = ("m", "pause", 5.0, 19.0), ("m", "slow", 1.0, None)
    later, other = ("m", "crash", 19.0, 20.0), ("n", "crash", 5.0, 6.0)
    assert fault_lanes([pause, slow, later, other]) == {
        slow: Lane(0, 2),
        pause: Lane(1, 2),
        later: Lane(1, 2),
        other: Lane(0, 1),
    }


def test_a_raster_has_room_for_each_lane() -> None:
    def height(kinds: int) -> float:
        names = [f"kind-{number}" for number in range(kinds)]
        return raster.height(pd.DataFrame({"what": names, "node": "m", "at": 0.0, "until": 1.0}))

    assert height(10) > height(5) > height(1)
