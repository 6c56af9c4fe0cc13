from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from emulator import plugins
from emulator.learning.datasets.split import (
    AnySplit,
    Dirichlet,
    Iid,
    Labels,
    Mixture,
    Owners,
    QuantitySkew,
    Shards,
    parts,
)

LABELS = np.random.default_rng(0).integers(0, 10, 6000, np.uint8)
SPLITS: list[AnySplit] = [
    *(Iid(), Shards(), Shards(per_device=3), Dirichlet(), Dirichlet(alpha=100)),
    *(Mixture(), Mixture(alpha=100), Mixture(alpha=5e-324)),
    *(QuantitySkew(), QuantitySkew(alpha=100)),
]
ROWS = pytest.mark.parametrize("split", SPLITS, ids=str)


def names(count: int) -> list[str]:
    return [f"adsl-{i}" for i in range(count)]


@pytest.mark.mostly_slow
@ROWS
@settings(max_examples=15, deadline=None)
@given(
    labels=st.lists(st.integers(0, 9), min_size=60, max_size=400),
    devices=st.integers(1, 20),
    seed=st.integers(0, 3),
)
def test_gives_no_example_twice(
    split: AnySplit, labels: list[int], devices: int, seed: int
) -> None:
    values = np.array(labels, np.uint8)
    split_up = split.split(values, names(devices), seed)
    given_out = np.concatenate(list(split_up.values()))
    assert list(split_up) == names(devices)
    assert given_out.dtype == np.int64
    assert len(np.unique(given_out)) == len(given_out)
    assert np.isin(given_out, np.arange(len(values))).all()
    hands = devices * (split.per_device if isinstance(split, Shards) else 1)
    left_out = 0 if isinstance(split, Dirichlet | QuantitySkew) else len(values) % hands
    assert len(values) - len(given_out) == left_out


@ROWS
def test_is_drawn_from_the_seed(split: AnySplit) -> None:
    first, again, other = (split.split(LABELS, names(4), seed) for seed in (7, 7, 8))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not any(np.array_equal(first[name], other[name]) for name in first)


@ROWS
def test_travels_as_plain_data(split: AnySplit) -> None:
    assert plugins.Family("splits", AnySplit, object).make(plugins.plain(split)) == split


def test_iid_deals_equal_parts_of_every_class() -> None:
    hands = parts(Iid(), LABELS, names(6), 0, batch_size=10).values()
    assert {len(hand) for hand in hands} == {1000}
    for hand in hands:
        assert np.abs(np.bincount(LABELS[hand], minlength=10) - 100).max() < 45


def test_more_shards_than_examples_are_refused_before_they_are_made() -> None:
    labels = np.arange(100, dtype=np.uint8) % 10
    with pytest.raises(ValueError, match=r"shards leaves a0 \(0\), a1 \(0\) without a batch of 10"):
        parts(Shards(per_device=10**11), labels, ("a0", "a1"), 0, batch_size=10)


@pytest.mark.parametrize("per_device", [1, 2, 3])
def test_shards_show_a_device_few_classes(per_device: int) -> None:
    labels = np.repeat(np.arange(10, dtype=np.uint8), 600)  # so that no shard spans two classes
    hands = Shards(per_device=per_device).split(labels, names(10), 0).values()
    seen = [len(np.unique(labels[hand])) for hand in hands]
    assert max(seen) <= per_device
    assert {len(hand) for hand in hands} == {600}


def _unevenness(alpha: float, labels: Labels) -> float:
    """How far the devices' shares of the classes lie from a tenth each, on average."""
    hands = Dirichlet(alpha=alpha).split(labels, names(10), 0).values()
    counts = np.array([np.bincount(labels[hand], minlength=10) for hand in hands])
    return float(np.abs(counts / np.bincount(labels) - 0.1).mean())


def test_dirichlet_goes_from_one_owner_a_class_to_iid() -> None:
    falling = [_unevenness(alpha, LABELS) for alpha in (1e-6, 0.1, 0.5, 5, 1e6)]
    assert falling == sorted(falling, reverse=True)
    assert falling[0] == pytest.approx(0.18)  # one has all: (0.9 + 9 × 0.1) / 10
    assert falling[-1] < 0.002


@pytest.mark.parametrize(
    ("alpha", "digest"), [(0.5, "768b7e6c790dd986"), (100, "eafe0f0d384dcb59")]
)
def test_dirichlet_stays_as_it_is(alpha: float, digest: str) -> None:
    """The draws for a seed must not change: scenarios name seeds."""
    hands = Dirichlet(alpha=alpha).split(LABELS, names(4), 7).values()
    assert sha256(b"".join(hand.tobytes() for hand in hands)).hexdigest().startswith(digest)


@pytest.mark.parametrize(
    ("split", "paper"),
    [
        (Shards, "McMahan et al. (2017)"),
        (Dirichlet, "Yurochkin et al., 2019"),
        (Mixture, "Hsu et al., 2019"),
    ],
)
def test_a_split_names_its_paper(split: type[AnySplit], paper: str) -> None:
    described = split.__doc__ or ""
    assert paper in described
    assert ("Hsu" in described) == (split is Mixture)


# -- mixtures of classes ---------------------------------------------------------------------------

EVEN = np.repeat(np.arange(10, dtype=np.uint8), 6000)


def _shares(alpha: float, labels: Labels, devices: int, seed: int = 0) -> NDArray[np.float64]:
    """[devices, classes]: the share of each class in what a device has."""
    hands = Mixture(alpha=alpha).split(labels, names(devices), seed).values()
    each = len(labels) // devices
    assert {len(hand) for hand in hands} == {each}
    return np.array([np.bincount(labels[hand], minlength=10) for hand in hands]) / each


@pytest.mark.parametrize("devices", [10, 60])
@pytest.mark.parametrize("seed", range(3))
def test_a_small_alpha_gives_each_device_one_class(devices: int, seed: int) -> None:
    """A class is as large as one or six devices' parts, so none has to take of a second."""
    assert _shares(1e-9, EVEN, devices, seed).max(axis=1) == pytest.approx(1)


def test_a_device_whose_only_class_runs_out_takes_one_more() -> None:
    seen = np.count_nonzero(_shares(1e-9, EVEN, 7), axis=1)
    assert seen.max() > 1
    assert seen.sum() <= 7 + 9  # each class but the last runs out once


def test_a_large_alpha_gives_each_device_the_mixture_of_the_data() -> None:
    labels = np.repeat(np.arange(10, dtype=np.uint8), 100 * np.arange(1, 11))
    overall = np.bincount(labels) / len(labels)
    deviation = np.sqrt(overall * (1 - overall) / 1100)
    assert (np.abs(_shares(1e9, labels, 5) - overall) < 4 * deviation).all()


@pytest.mark.parametrize("alpha", [0.1, 1, 10, 100])
def test_mixtures_lie_as_far_apart_as_their_law_says(alpha: float) -> None:
    """The variance of a share: p(1 - p) / (alpha + 1), and that of drawing so many examples."""
    p, spread = 0.1, 1 / (alpha + 1)
    result = _shares(alpha, EVEN, 2000, seed=3)
    assert result.mean(axis=0) == pytest.approx([p] * 10)
    assert result.var(axis=0).mean() == pytest.approx(
        p * (1 - p) * (spread + (1 - spread) / 30), rel=0.05
    )


def test_a_class_that_has_run_out_is_left_out_of_all_mixtures() -> None:
    labels = np.array([0] * 10 + [1] * 10, np.uint8)
    for seed in range(20):
        hands = Mixture(alpha=1e-6).split(labels, names(4), seed)
        assert sorted(np.concatenate([*hands.values()]).tolist()) == list(range(20))


def test_the_devices_left_without_a_batch_are_named() -> None:
    with pytest.raises(
        ValueError, match=r"iid leaves adsl-0 \(60\), .* and 97 more .* batch of 61"
    ):
        parts(Iid(), LABELS, names(100), 0, batch_size=61)
    assert len(parts(Iid(), LABELS, names(100), 0, batch_size=60)) == 100


@ROWS
def test_texts_and_targets_have_no_class_to_go_by(split: AnySplit) -> None:
    labels = np.zeros((60, 5), np.uint8)
    if isinstance(split, Iid | QuantitySkew):
        assert parts(split, labels, names(4), 0, batch_size=1).keys() == set(names(4))
        return
    with pytest.raises(ValueError, match=f"{split.kind} goes by the class of an example"):
        parts(split, labels, names(4), 0, batch_size=1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Shards(per_device=0), "per_device: 0 is too small"),
        (lambda: Dirichlet(alpha=0), "alpha is 0"),
        (lambda: Dirichlet(alpha=-1), "alpha is -1"),
        (lambda: Dirichlet(alpha=float("nan")), "alpha is nan"),
        (lambda: Dirichlet(alpha=float("inf")), "alpha is inf"),
        (lambda: Mixture(alpha=0), "alpha is 0"),
        (lambda: QuantitySkew(alpha=0), "alpha is 0"),
        (lambda: Mixture(alpha=float("nan")), "alpha is nan"),
    ],
)
def test_refuses_what_makes_no_split(make, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


# ---------------------------------------------------------------- quantity and owners


def test_quantity_gives_devices_different_numbers_of_every_class() -> None:
    hands = parts(QuantitySkew(alpha=1), LABELS, names(4), 7, batch_size=10).values()
    sizes = sorted(len(hand) for hand in hands)
    assert sum(sizes) == len(LABELS) and sizes[-1] > 3 * sizes[0]
    for hand in hands:
        share = np.bincount(LABELS[hand], minlength=10) / len(hand)
        assert np.abs(share - 0.1).max() < 3 * np.sqrt(0.1 / len(hand))


def test_a_large_alpha_of_quantity_gives_equal_numbers() -> None:
    hands = QuantitySkew(alpha=1e6).split(LABELS, names(4), 0).values()
    assert all(abs(len(hand) - 1500) < 15 for hand in hands)


@given(
    owners=st.lists(st.sampled_from("abcdefgh"), min_size=8, max_size=60),
    devices=st.integers(1, 8),
    seed=st.integers(0, 3),
)
@settings(max_examples=30, deadline=None)
def test_no_owner_has_two_devices(owners: list[str], devices: int, seed: int) -> None:
    values = np.array(owners)
    if len(set(owners)) < devices:
        with pytest.raises(ValueError, match=r"\d owners have the examples, and there are \d dev"):
            Owners().assign(values, names(devices), seed)
        return
    dealt = Owners().assign(values, names(devices), seed)
    assert sorted(np.concatenate(list(dealt.values()))) == list(range(len(owners)))
    whose = {device: set(values[own].tolist()) for device, own in dealt.items()}
    assert sum(map(len, whose.values())) == len(set(owners))
    counts = [len(own) for own in whose.values()]
    assert max(counts) - min(counts) <= 1


def test_devices_named_as_owners_get_their_own_examples() -> None:
    dealt = Owners().assign(np.array(["bob", "ann", "bob"]), ("ann", "bob"), 5)
    assert {name: own.tolist() for name, own in dealt.items()} == {"ann": [1], "bob": [0, 2]}


def test_owners_must_be_named() -> None:
    with pytest.raises(ValueError, match="write `owners: COLUMN` in `dataset`, or"):
        parts(Owners(), LABELS, names(2), 0, batch_size=1)
