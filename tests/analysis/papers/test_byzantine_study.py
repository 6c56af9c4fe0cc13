"""The study of liars: its entries."""

import pytest

from emulator.scenario.timeline.compiled import timeline
from emulator.sweeps.studies import STUDIES

LIES = {"4 liars": ["device-2", "device-4", "device-12", "device-17"], "no liars": []}


@pytest.mark.parametrize("world", LIES)
def test_every_aggregation_is_played_with_liars_and_without(world: str) -> None:
    chosen = STUDIES["byzantine"]
    kinds = []
    for entry in (entry for entry in chosen.entries if entry.world == world):
        scenario = entry.point(entry.rates[0]).scenario
        lies = [timed for timed in timeline(scenario) if timed.action.verb == "falsify"]
        assert sorted(timed.action.node for timed in lies) == sorted(LIES[world])
        kinds.append(scenario.training.aggregation.kind)
    assert set(kinds) == {"mean", "median", "trimmed-mean", "krum", "multi-krum", "norm-clip"}
