"""The lateness of the box: percentiles of a second's frames."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.shaping.box.output_lines import BIN, Lateness


def test_without_frames_all_is_zero() -> None:
    assert Lateness().summary() == {"packets": 0, "p50": 0.0, "p99": 0.0, "max": 0.0}


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.floats(0, 0.15), min_size=1, max_size=300))
def test_percentiles_are_those_of_the_sorted_values(values: list[float]) -> None:
    lateness = Lateness()
    for value in (values[0], *values):
        lateness.add(value)
    summary = lateness.summary()
    values = [values[0], *values]
    ordered = sorted(values)
    assert summary["packets"] == len(values)
    assert summary["max"] == pytest.approx(ordered[-1], abs=1e-6)
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        exact = ordered[max(0, -(-round(share * len(values) * 100) // 100) - 1)]
        assert exact - 1e-6 <= summary[name] <= exact + BIN + 1e-6


def test_a_summary_forgets_the_frames() -> None:
    lateness = Lateness()
    lateness.add(5.0)  # beyond the histogram
    assert lateness.summary()["p99"] == 5.0
    assert lateness.summary()["packets"] == 0
