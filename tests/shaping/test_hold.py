"""Messages held at the receiver, where the kernel delays no packets."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.shaping.hold import Hold
from emulator.units import Seconds

GAPS = st.lists(st.floats(0, 0.2), min_size=1, max_size=40)


def _released(hold: Hold[int], arrivals: list[float]) -> list[tuple[int, float]]:
    """Each message and when it came out of a line that is looked at exactly when it says."""
    out = []
    for number, at in enumerate([*arrivals, float("inf")]):
        while (due := hold.deadline()) is not None and due <= at:
            batch = hold.release(due)
            assert batch, "nothing was due at the deadline"
            out += [(item, due) for item in batch]
        if at != float("inf"):
            hold.take(number, at)
    return out


@settings(max_examples=60)
@given(GAPS, st.floats(0, 0.3), st.floats(0, 1), st.integers())
def test_none_is_lost_none_overtakes_none_is_early(
    gaps: list[float], delay: float, part: float, seed: int
) -> None:
    jitter = delay * part
    hold: Hold[int] = Hold(Seconds(delay), Seconds(jitter), Random(seed))
    arrivals = [sum(gaps[: i + 1]) for i in range(len(gaps))]
    out = _released(hold, arrivals)
    assert [number for number, _ in out] == list(range(len(gaps)))
    times = [at for _, at in out]
    assert times == sorted(times)
    for (number, at), before in zip(out, [0.0, *times], strict=False):
        own = at - arrivals[number]
        assert own >= max(0.0, delay - 4 * jitter) - 1e-9
        assert own <= delay + 4 * jitter + 1e-9 or at == before


def test_without_jitter_the_delay_is_exact_and_draws_nothing() -> None:
    rng = Random(1)
    state = rng.getstate()
    hold: Hold[int] = Hold(Seconds(0.08), Seconds(0), rng)
    assert hold.deadline() is None
    assert [at for _, at in _released(hold, [1.0, 1.5])] == [1.08, 1.58]
    assert rng.getstate() == state


def test_the_jitter_is_normal_around_the_delay() -> None:
    hold: Hold[int] = Hold(Seconds(0.1), Seconds(0.01), Random(7))
    arrivals = [float(second) for second in range(4000)]
    waits = [at - arrivals[number] for number, at in _released(hold, arrivals)]
    mean = sum(waits) / len(waits)
    deviation = (sum((wait - mean) ** 2 for wait in waits) / len(waits)) ** 0.5
    assert mean == pytest.approx(0.1, abs=0.001)
    assert deviation == pytest.approx(0.01, rel=0.06)


def test_the_same_seed_holds_alike() -> None:
    runs = [
        _released(Hold(Seconds(0.1), Seconds(0.05), Random("7/adsl-0")), [0.0, 0.01, 0.5])
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
