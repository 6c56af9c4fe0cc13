"""The server has a single core: updates queue, and answers wait."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.runtimes.virtual.server.virtual_server import ServerProcessor
from emulator.units import Seconds
from emulator.world.laws import Fixed, Uniform
from tests.fakes.plain_records import read
from tests.fakes.virtual_world import played

IDEAL = """
name: queue
seed: 3
training: {dataset: digits, model: digits-mlp, batch_size: 8, algorithm: asgd}
evaluate: {every: 1000}
stop: {updates: 200}
virtual: {learner: numpy, step: 10ms, boot: 50ms, serve: 4ms, tcp: false}
devices: [{name: device, count: COUNT}]
"""


@given(st.lists(st.floats(0, 0.01), min_size=1, max_size=50))
def test_updates_are_served_one_after_the_other(gaps: list[float]) -> None:
    processor, now, through = ServerProcessor(Fixed(Seconds(0.004)), seed=1), 0.0, 0.0
    for gap in gaps:
        now += gap
        processor.take(now)
        through = max(now, through) + 0.004
        assert processor.free(now) == pytest.approx(through)
    assert processor.free(through + 1) == through + 1


def test_without_a_law_it_takes_no_time() -> None:
    processor = ServerProcessor(None, seed=1)
    processor.take(3.0)
    assert processor.free(3.0) == 3.0


def test_a_law_is_drawn_from_by_the_seed() -> None:
    def drawn(seed: int) -> float:
        processor = ServerProcessor(Uniform((Seconds(0.001), Seconds(0.01))), seed)
        processor.take(0.0)
        return processor.free(0.0)

    assert drawn(1) == drawn(1) != drawn(2)
    assert 0.001 <= drawn(1) <= 0.01


@pytest.mark.mostly_slow
@pytest.mark.parametrize(("count", "each"), [(1, 0.014), (2, 0.007), (4, 0.004), (9, 0.004)])
def test_the_server_bounds_what_many_devices_can_do(
    tmp_path: Path, count: int, each: float
) -> None:
    """One device waits for its step and for the server; many wait for the server alone."""
    _, summary, _ = played(tmp_path, text=IDEAL.replace("COUNT", str(count)))
    assert summary["duration_s"] == pytest.approx(200 * each, rel=0.04)


def test_who_dies_while_the_server_is_busy_gets_no_answer(tmp_path: Path) -> None:
    faults = "faults: [{kind: crash, nodes: [device-0], at: 100ms, lasts: 200ms}]"
    slow = IDEAL.replace("COUNT", "3").replace("serve: 4ms", "serve: 30ms") + faults
    folder, summary, _ = played(tmp_path, text=slow)
    assert summary["outcome"] == "success"
    records = [r for r in read(folder / "run.jsonl") if r.get("node") == "device-0"]
    pulls = [record["at"] for record in records if record["what"] == "pull"]
    assert not [at for at in pulls if 0.1 <= at < 0.3]
    assert len(pulls) > 10
    assert all(later > earlier for earlier, later in pairwise(pulls))
