"""Aggregations: against the papers' definitions in plain loops, and against liars."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import aggregation
from emulator.aggregation import (
    AnyAggregation,
    Krum,
    Mean,
    Median,
    MultiKrum,
    NormClip,
    TrimmedMean,
    base,
)
from emulator.aggregation.distances import squared_distances
from emulator.core.server.parameters import Parameters
from emulator.layout import Layout, Variable
from emulator.modulation import Constant, Staleness
from emulator.optimizers.base import Modulated, mean
from emulator.units import Fraction
from emulator.vectors import Gradient, Vector
from tests.aggregation.aggregation_table import TABLE

ROBUST = [row for row in TABLE if row.values[0] != Mean()]
SIZE = 12


def given_as(rows: Sequence[Vector | Gradient], divisor: float = 1.0) -> list[Modulated]:
    gradients = [row if isinstance(row, Gradient) else Gradient(row) for row in rows]
    return [Modulated(each, 1 / len(rows), np.float32(divisor)) for each in gradients]


def combined(policy: AnyAggregation, rows: Sequence[Vector | Gradient]) -> Vector:
    step = mean(policy.combine(given_as(rows)), SIZE)
    dense = np.zeros(SIZE, np.float32)
    dense[slice(None) if step.indices is None else step.indices] = step.values
    return dense


def rows_of(seed: int, count: int, size: int = SIZE) -> list[Vector]:
    rng = np.random.default_rng(seed)
    return list(rng.normal(size=(count, size)).astype(np.float32))


def sparse(row: Vector, kept: Sequence[int]) -> Gradient:
    indices = np.array(sorted(kept), np.uint32)
    return Gradient(row[indices], indices)


# -- against the definitions -----------------------------------------------------------------------


def by_hand(policy: AnyAggregation, rows: Sequence[Vector]) -> Vector:
    """The papers' definitions, a number at a time."""
    count = len(rows)
    match policy:
        case Mean():
            return np.mean(rows, axis=0)
        case Median():
            return np.array([_median([row[i] for row in rows]) for i in range(SIZE)])
        case TrimmedMean():
            cut = int(policy.trim * count + 1e-9)
            kept = [sorted(row[i] for row in rows)[cut : count - cut] for i in range(SIZE)]
            return np.array([sum(values) / len(values) for values in kept])
        case Krum():
            return rows[_ranking(rows, policy.liars)[0]]
        case MultiKrum():
            kept = sorted(_ranking(rows, policy.liars)[: max(1, count - policy.liars)])
            return np.mean([rows[place] for place in kept], axis=0)
        case NormClip():
            norms = [float(np.sqrt(sum(float(x) ** 2 for x in row))) for row in rows]
            bound = policy.norm or _median(norms)
            return np.mean(
                [row * min(1.0, bound / norm) for row, norm in zip(rows, norms, strict=True)],
                axis=0,
            )


def _median(values: Sequence[float]) -> float:
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _ranking(rows: Sequence[Vector], liars: int) -> list[int]:
    """Places of the rows by Krum's score, the least first."""

    def score(place: int) -> float:
        others = sorted(
            sum((float(a) - float(b)) ** 2 for a, b in zip(rows[place], row, strict=True))
            for other, row in enumerate(rows)
            if other != place
        )
        return sum(others[: max(1, len(rows) - liars - 2)])

    return sorted(range(len(rows)), key=score)


@pytest.mark.parametrize("policy", TABLE)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(2, 9))
def test_dense_gradients_are_combined_as_the_paper_says(
    policy: AnyAggregation, seed: int, count: int
) -> None:
    rows = rows_of(seed, count)
    np.testing.assert_allclose(combined(policy, rows), by_hand(policy, rows), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("policy", TABLE)
def test_the_gradients_given_stay_as_they_are(policy: AnyAggregation) -> None:
    rows = rows_of(1, 7)
    before = np.stack(rows)
    for row in rows:
        row.flags.writeable = False
    policy.combine(given_as(rows))
    np.testing.assert_array_equal(np.stack(rows), before)


@pytest.mark.parametrize("policy", TABLE)
def test_shares_add_up_to_one_and_equal_gradients_stay(policy: AnyAggregation) -> None:
    row = rows_of(3, 1)[0] / 4
    result = policy.combine(given_as([row] * 6))
    assert sum(each.share for each in result) == pytest.approx(1)
    np.testing.assert_allclose(combined(policy, [row] * 6), row, rtol=1e-6)


@pytest.mark.parametrize("policy", TABLE)
def test_one_gradient_makes_the_step_alone(policy: AnyAggregation) -> None:
    row = rows_of(4, 1)[0] / 8
    np.testing.assert_allclose(combined(policy, [row]), row, rtol=1e-6)


@pytest.mark.parametrize("policy", TABLE)
def test_blocks_change_no_result(policy: AnyAggregation, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(5, 7)
    whole = combined(policy, rows)
    monkeypatch.setattr(base, "BLOCK", 5)
    np.testing.assert_allclose(combined(policy, rows), whole, rtol=1e-6)


@pytest.mark.parametrize("policy", TABLE)
def test_a_gradient_is_divided_before_it_is_combined(policy: AnyAggregation) -> None:
    """A modulated step counts as what it would do alone."""
    rows = [row / 8 for row in rows_of(6, 7)]
    halves = [each._replace(divisor=np.float32(2)) for each in given_as([2 * row for row in rows])]
    step = mean(policy.combine(halves), SIZE)
    np.testing.assert_allclose(step.values, combined(policy, rows), rtol=1e-5, atol=1e-7)


# -- sparse gradients ------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", TABLE)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), dense=st.booleans())
def test_entries_that_all_hold_are_combined_as_dense_ones(
    policy: AnyAggregation, seed: int, dense: bool
) -> None:
    rows = rows_of(seed, 7)
    whole: list[Vector | Gradient] = [sparse(row, range(SIZE)) for row in rows]
    if dense:
        whole[2] = rows[2]
    np.testing.assert_allclose(combined(policy, whole), combined(policy, rows), rtol=1e-6)


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    kept=st.lists(st.sets(st.integers(0, SIZE - 1)), min_size=2, max_size=8),
)
def test_the_rule_for_missing_entries_gives_the_mean_with_zeros(
    seed: int, kept: list[set[int]]
) -> None:
    """With the mean as its statistic, the rule of sparse gradients is the ordinary mean."""
    parts = [sparse(row, [*held]) for row, held in zip(rows_of(seed, len(kept)), kept, strict=True)]
    result = base.entrywise(given_as(parts), lambda rows: rows.mean(axis=0))
    expected = mean(given_as(parts), SIZE).values
    dense = np.zeros(SIZE, np.float32)
    gradient = result[0].gradient
    assert gradient.indices is not None
    dense[gradient.indices] = gradient.values
    np.testing.assert_allclose(dense, expected, rtol=1e-5, atol=1e-7)


def test_an_entry_that_few_hold_counts_by_their_share() -> None:
    parts = [
        Gradient(np.array([3.0, 1.0], np.float32), np.array([0, 5], np.uint32)),
        Gradient(np.array([5.0], np.float32), np.array([0], np.uint32)),
        Gradient(np.array([100.0], np.float32), np.array([0], np.uint32)),
        Gradient(np.zeros(0, np.float32), np.zeros(0, np.uint32)),
    ]
    gradient = Median().combine(given_as(parts))[0].gradient
    assert gradient.indices is not None
    assert gradient.indices.tolist() == [0, 5]
    assert gradient.values.tolist() == [5.0 * 3 / 4, 1.0 * 1 / 4]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_distances_count_missing_entries_as_zeros(seed: int) -> None:
    rows = rows_of(seed, 4)
    kept = [range(SIZE), [0, 3, 7], [], [2, 3, 11]]
    parts: list[Vector | Gradient] = [
        rows[0],
        *(sparse(row, held) for row, held in zip(rows[1:], kept[1:], strict=True)),
    ]
    zeros = [
        np.where(np.isin(np.arange(SIZE), held), row, 0)
        for row, held in zip(rows, kept, strict=True)
    ]
    found = squared_distances(given_as(parts))
    for a, b in np.ndindex(found.shape):
        assert found[a, b] == pytest.approx(float(((zeros[a] - zeros[b]) ** 2).sum()), abs=1e-5)


# -- liars -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ROBUST)
@pytest.mark.parametrize("lie", [-1.0, 1e6, -1e6])
def test_two_liars_of_nine_do_not_turn_the_step(policy: AnyAggregation, lie: float) -> None:
    policy = {Krum: Krum(2), MultiKrum: MultiKrum(2), TrimmedMean: TrimmedMean(Fraction(0.25))}.get(
        type(policy), policy
    )
    truth = np.ones(SIZE, np.float32)
    honest = [truth + row / 10 for row in rows_of(8, 7)]
    step = combined(policy, [*honest[:3], lie * truth, *honest[3:], lie * truth])
    assert np.linalg.norm(step) < 2 * np.linalg.norm(truth)
    assert step @ truth > (0.3 if isinstance(policy, NormClip) else 0.9) * truth @ truth


def test_the_mean_is_turned_by_one_liar() -> None:
    truth = np.ones(SIZE, np.float32)
    assert combined(Mean(), [*[truth] * 8, -1e6 * truth]) @ truth < 0


# -- configuration and the server ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: TrimmedMean(Fraction(0.5)), "trim is 50%: write a share above 0% and below 50%"),
        (lambda: TrimmedMean(Fraction(0.0)), "trim is 0%"),
        (lambda: Krum(0), "liars is 0: write a whole number from 1 up"),
        (lambda: MultiKrum(1, 0), "keep is 0: write a whole number from 1 up"),
        (lambda: NormClip(0.0), "norm is 0.0: write a number above 0"),
        (lambda: NormClip(float("nan")), "norm is nan"),
    ],
)
def test_parameters_without_sense_are_refused(make: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("policy", TABLE)
def test_an_aggregation_survives_json(policy: AnyAggregation) -> None:
    assert aggregation.make(aggregation.plain(policy)) == policy


def test_the_server_steps_along_the_aggregated_gradient_after_modulation() -> None:
    layout = Layout((Variable("v", (SIZE,), "dense", 0),))
    start = np.zeros(SIZE, np.float32)
    model = Parameters(start, 0.5, Staleness().start(layout), aggregation=Median())
    model.apply([(Gradient(np.ones(SIZE, np.float32)), 0)])
    model.apply([(Gradient(np.ones(SIZE, np.float32)), 1)])
    values = [4.0, 6.0, 1000.0]
    # the last is two steps stale: its step counts as 500
    versions = [2, 2, 0]
    divisors = model.apply(
        [
            (Gradient(np.full(SIZE, value, np.float32)), version)
            for value, version in zip(values, versions, strict=True)
        ]
    )
    assert divisors == [1.0, 1.0, 2.0]
    assert model.version == 5
    np.testing.assert_allclose(model.theta, -0.5 * (1 + 1 + 6))


def test_weights_count_for_the_mean_and_for_a_clipped_mean_only() -> None:
    layout = Layout((Variable("v", (SIZE,), "dense", 0),))

    def moved(policy: AnyAggregation) -> float:
        start = np.zeros(SIZE, np.float32)
        model = Parameters(start, 1.0, Constant().start(layout), aggregation=policy)
        rows = [np.full(SIZE, value, np.float32) for value in (1.0, 2.0, 4.0)]
        model.apply([(Gradient(row), 0) for row in rows], weights=[6.0, 1.0, 1.0])
        return -float(model.theta[0])

    assert moved(Mean()) == pytest.approx(12 / 8)
    assert moved(NormClip()) == pytest.approx(10 / 8)
    assert moved(Median()) == 2.0
