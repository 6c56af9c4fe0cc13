"""Lanes of faults that overlap on a device."""

import pandas as pd

from analysis import raster
from analysis.fault_lanes import Lane, fault_lanes


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
