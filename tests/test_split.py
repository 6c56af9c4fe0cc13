import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import kinds
from emulator.datasets.split import AnySplit, Dirichlet, Iid, Labels, Shards, parts

LABELS = np.random.default_rng(0).integers(0, 10, 6000, np.uint8)
SPLITS: list[AnySplit] = [Iid(), Shards(), Shards(per_device=3), Dirichlet(), Dirichlet(alpha=100)]
ROWS = pytest.mark.parametrize("split", SPLITS, ids=str)


def names(count: int) -> list[str]:
    return [f"adsl-{i}" for i in range(count)]


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
    left_out = 0 if isinstance(split, Dirichlet) else len(values) % hands
    assert len(values) - len(given_out) == left_out


@ROWS
def test_is_drawn_from_the_seed(split: AnySplit) -> None:
    first, again, other = (split.split(LABELS, names(4), seed) for seed in (7, 7, 8))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not any(np.array_equal(first[name], other[name]) for name in first)


@ROWS
def test_travels_as_plain_data(split: AnySplit) -> None:
    assert kinds.make(AnySplit, kinds.plain(split)) == split


def test_iid_deals_equal_parts_of_every_class() -> None:
    hands = parts(Iid(), LABELS, names(6), 0, batch_size=10).values()
    assert {len(hand) for hand in hands} == {1000}
    for hand in hands:
        assert np.abs(np.bincount(LABELS[hand], minlength=10) - 100).max() < 45


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


def test_the_devices_left_without_a_batch_are_named() -> None:
    with pytest.raises(
        ValueError, match=r"iid leaves adsl-0 \(60\), .* and 97 more .* batch of 61"
    ):
        parts(Iid(), LABELS, names(100), 0, batch_size=61)
    assert len(parts(Iid(), LABELS, names(100), 0, batch_size=60)) == 100


@ROWS
def test_texts_have_no_class_to_go_by(split: AnySplit) -> None:
    labels = np.zeros((60, 5), np.uint8)
    if isinstance(split, Iid):
        assert len(parts(split, labels, names(4), 0, batch_size=15)["adsl-3"]) == 15
        return
    with pytest.raises(ValueError, match=f"{split.kind} goes by the class of an example"):
        parts(split, labels, names(4), 0, batch_size=1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Shards(per_device=0), "per_device is 0"),
        (lambda: Dirichlet(alpha=0), "alpha is 0"),
        (lambda: Dirichlet(alpha=-1), "alpha is -1"),
        (lambda: Dirichlet(alpha=float("nan")), "alpha is nan"),
        (lambda: Dirichlet(alpha=float("inf")), "alpha is inf"),
    ],
)
def test_refuses_what_makes_no_split(make, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()
