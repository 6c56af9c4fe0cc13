"""Three minutes of 24 devices that come, go and flap: nothing grows, and nothing is left behind."""

import pytest

from tests.soak import judgement, soaking
from tests.soak.processes import BOX

pytestmark = [pytest.mark.docker, pytest.mark.thorough, pytest.mark.timeout(600)]


def test_three_minutes_of_soak(client, tmp_path):
    soak = soaking.soak(180.0, tmp_path, print)
    print(judgement.table(soak))
    assert judgement.complaints(soak) == []
    supervisors = {name for name in soak.samples if name.startswith("supervisor of ")}
    assert len(supervisors) == 26
    assert (
        {"conductor", "server"} <= set(soak.samples) - supervisors <= {"conductor", "server", BOX}
    )
    kinds = {"churn", "flap", "straggler", "memory", "corrupt", "server-crash"}
    assert soak.kinds == kinds  # of which each was played, or there were a complaint
    assert soak.summary["server_recoveries"] >= 2
