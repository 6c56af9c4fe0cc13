"""Every shipped failure profile strikes in virtual time, every link preset and device trains."""

from pathlib import Path

import pytest

from tests.cover import LIBRARY
from tests.cover.dealt_fleets import each
from tests.fakes.virtual_world import played

pytestmark = pytest.mark.slow

SECONDS = 25
OFTEN, SELDOM = 3, 36
"""Hours of a run of all failure profiles, and of those that do not strike in these hours."""


@pytest.mark.parametrize("key", ["link", "profile"])
def test_a_device_with_each_profile_trains(key: str, tmp_path: Path) -> None:
    _, summary, view = played(
        tmp_path, "virtual.learner=none", text=each(LIBRARY[key], key, SECONDS)
    )
    assert summary["outcome"] == "success"
    pushed = {record["node"] for record in view.records if record["what"] == "update"}
    assert pushed == set(LIBRARY[key])


def test_each_failure_profile_strikes(tmp_path: Path) -> None:
    missing = set(LIBRARY["failures"])
    for hours in (OFTEN, SELDOM):
        text = each(sorted(missing), "failures", hours * 3600)
        _, summary, view = played(tmp_path, "virtual.learner=none", "virtual.step=5min", text=text)
        assert summary["outcome"] == "success"
        pushed = {r["node"] for r in view.records if r["what"] == "update"}
        assert missing - pushed == set(), "a device never comes back"
        missing -= {r["node"] for r in view.records if "begins" in r}
        print(f"without a strike in {hours} hours: {sorted(missing)}")
    assert missing == set()
