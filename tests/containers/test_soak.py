"""Three minutes of 24 devices that come, go and flap: nothing grows, and nothing is left behind."""

import pytest

from tests.soak import judgement, soaking

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(600)]


def test_three_minutes_of_soak(client, tmp_path):
    soak = soaking.soak(180.0, tmp_path, print)
    print(judgement.table(soak))
    assert judgement.complaints(soak) == []
    assert len(soak.samples) == 1 + 1 + 26
    assert set(soak.summary["fault_effects"]["kinds"]) >= {"churn", "flap", "straggler"}
