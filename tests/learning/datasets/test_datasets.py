import struct
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest

from emulator.errors import DataError
from emulator.learning import datasets
from emulator.learning.datasets import catalog, fetch, shard, store
from emulator.learning.datasets.archives import Files, Unavailable
from emulator.learning.datasets.catalog import DATASETS, Description
from emulator.learning.datasets.examples import Bytes, Examples
from emulator.learning.datasets.formats import (
    ALPHABET,
    DIGITS,
    IDX,
    TEXTS,
    read_digits,
    read_idx,
    read_texts,
)
from emulator.learning.models.task import Task
from tests.learning.datasets.first_labels import FIRST

TASK = Task("images", (3, 2), classes=10)
RNG = np.random.default_rng(0)
ARRAYS = {
    "train-images": RNG.integers(0, 256, (6, 3, 2), np.uint8),
    "train-labels": RNG.integers(0, 10, 6, np.uint8),
    "test-images": RNG.integers(0, 256, (4, 3, 2), np.uint8),
    "test-labels": RNG.integers(0, 10, 4, np.uint8),
}


def idx(array: Bytes) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


FILES = {name: idx(array) for name, array in zip(IDX, ARRAYS.values(), strict=True)}


class Given:
    """A source with the given files."""

    def __init__(self, files: Files) -> None:
        self.has = files
        self.asked = 0

    def __str__(self) -> str:
        return f"a source of {len(self.has)} files"

    def files(self, names: Collection[str]) -> Files:
        self.asked += 1
        if missing := set(names) - set(self.has):
            raise Unavailable(f"{len(missing)} missing")
        return self.has


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Description:
    """A data set that is known, and not here yet."""
    digests = {part: store.digest(array) for part, array in ARRAYS.items()}
    description = Description("tiny", TASK, 255, {"train": 6, "test": 4}, digests)
    monkeypatch.setitem(DATASETS, "tiny", description)
    monkeypatch.setitem(fetch.ORIGINS, "tiny", fetch.Origin(IDX, read_idx, (Given(FILES),)))
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path / "cache"))
    return description


def test_every_data_set_has_an_origin() -> None:
    assert list(fetch.ORIGINS) == list(DATASETS)


def test_an_unknown_name_is_told_what_was_meant() -> None:
    with pytest.raises(ValueError, match=r"'minst' .did you mean 'mnist'.* is not mnist or "):
        catalog.find("minst")


# ---------------------------------------------------------------- stored


def test_what_is_fetched_is_loaded(tiny: Description) -> None:
    said: list[str] = []
    fetch.fetch("tiny", said.append)
    data = datasets.load("tiny")
    for part, array in ARRAYS.items():
        examples = data.train if part.startswith("train") else data.test
        kept = examples.labels if part.endswith("labels") else examples.inputs
        assert np.array_equal(kept, array)
    assert said[0] == "tiny: from a source of 4 files"
    assert said[1].startswith("tiny: 6 + 4 images in ")
    assert {path.name for path in store.folder("tiny").iterdir()} == {f"{p}.npy" for p in ARRAYS}


def test_what_is_here_is_not_fetched_again(tiny: Description) -> None:
    source = Given(FILES)
    for _ in range(2):
        fetch.fetch("tiny", lambda line: None, [source])
    assert source.asked == 1


def test_missing_data_is_said_with_its_remedy(tiny: Description) -> None:
    with pytest.raises(DataError, match=r"tiny is not here: run `emulate d"):
        datasets.load("tiny")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda content: content[:-1] + bytes([content[-1] ^ 1]), "has SHA-256 .*, not "),
        (lambda content: content[:-1], "cannot be read"),
        (lambda content: b"", "cannot be read"),
        (lambda content: b"junk" + content, "cannot be read"),
    ],
)
def test_damage_is_found_and_mended(tiny: Description, damage, said: str) -> None:
    fetch.fetch("tiny", lambda line: None)
    path = store.folder("tiny") / "test-labels.npy"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=f"test-labels.npy.*{said}.*emulate data tiny"):
        datasets.load("tiny")
    fetch.fetch("tiny", lambda line: None)
    assert np.array_equal(datasets.load("tiny").test.labels, ARRAYS["test-labels"])


def test_another_shape_is_refused_before_it_is_hashed(tiny: Description) -> None:
    fetch.fetch("tiny", lambda line: None)
    np.save(store.folder("tiny") / "test-labels.npy", np.zeros(5, np.uint8))
    with pytest.raises(DataError, match=r"holds uint8 \[5\], not uint8 \[4\]"):
        datasets.load("tiny")


def test_a_cache_that_cannot_be_written_is_named(tiny: Description, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(DataError, match="cannot be written"):
        fetch.fetch("tiny", lambda line: None)


# ---------------------------------------------------------------- fetched


def test_sources_are_tried_in_order_and_never_believed(tiny: Description) -> None:
    lying = {**FILES, IDX[0]: idx(ARRAYS["train-images"] ^ 1)}
    source = Given(FILES)
    fetch.fetch("tiny", lambda line: None, [Given({}), Given(lying), source, Given({})])
    assert source.asked == 1


def test_what_each_source_answered_is_said_once_and_for_all(tiny: Description) -> None:
    lying = {**FILES, IDX[0]: idx(ARRAYS["train-images"] ^ 1)}
    with pytest.raises(DataError) as raised:
        fetch.fetch("tiny", lambda line: None, [Given({}), Given(lying)])
    first, second, third, last = str(raised.value).splitlines()
    assert first == "no source has tiny:"
    assert second == "  a source of 0 files: 4 missing"
    assert third.startswith("  a source of 4 files: its train-images has SHA-256 ")
    assert "--from FOLDER tiny" in last
    assert not store.folder("tiny").exists()


# ---------------------------------------------------------------- read


@pytest.mark.parametrize("cut", [0, 3, 10, -1])
def test_a_broken_idx_file_is_refused(cut: int) -> None:
    broken = {**FILES, IDX[2]: FILES[IDX[2]][:cut]}
    with pytest.raises(Unavailable, match=IDX[2]):
        read_idx(broken)


def test_every_fifth_digit_is_for_the_test() -> None:
    rows = [[i] * 64 + [i % 10] for i in range(12)]
    text = "\n".join(",".join(map(str, row)) for row in rows).encode()
    arrays = read_digits({DIGITS[0]: text})
    assert arrays["test-labels"].tolist() == [0, 5, 0]
    assert arrays["train-images"].shape == (9, 8, 8)
    assert arrays["train-images"][-1].max() == 11
    for broken in (b"1,2,x", b"1,2,3"):
        with pytest.raises(Unavailable):
            read_digits({DIGITS[0]: broken})


def test_texts_follow_one_another_and_their_labels_run_ahead() -> None:
    train = "a farmer. " * 21
    arrays = read_texts({TEXTS[0]: train[:201].encode(), TEXTS[1]: b"why? " * 21})
    assert arrays["train-texts"].shape == arrays["train-labels"].shape == (4, 50)
    assert arrays["test-texts"].shape == (2, 50)
    for what, at in (("texts", 0), ("labels", 1)):
        result = "".join(ALPHABET[code] for code in arrays[f"train-{what}"].ravel())
        assert result == train[at : 200 + at]


def test_a_strange_character_is_refused() -> None:
    with pytest.raises(Unavailable, match=r"test.txt has the byte b'W', which is not in "):
        read_texts({TEXTS[0]: b"a " * 60, TEXTS[1]: b"why? Why? " * 6})


@pytest.mark.parametrize("white", [16, 255])
def test_a_batch_is_what_a_model_takes(white: int) -> None:
    images = np.array([[[0, white]], [[white, 0]], [[1, 2]]], np.uint8)
    examples = Examples(images, np.array([3, 4, 5], np.uint8), white)
    x, y = examples.batch(np.array([2, 0]))
    assert (x.dtype, y.dtype) == (np.float32, np.int32)
    assert x.tolist() == [[np.float32(1 / white), np.float32(2 / white)], [0, 1]]
    assert y.tolist() == [5, 3]
    assert (len(examples), examples.answers) == (3, 3)


def test_a_batch_of_texts_is_codes_and_the_next_ones() -> None:
    text = np.array([7, 0, 31, 4, 2, 9, 1], np.uint8)
    examples = Examples(text[:6].reshape(2, 3), text[1:].reshape(2, 3), scale=1)
    x, y = examples.batch(np.array([1, 0]))
    assert (x.dtype, y.dtype) == (np.float32, np.int32)
    assert x.tolist() == [[4, 2, 9], [7, 0, 31]]
    assert y.tolist() == [[2, 9, 1], [0, 31, 4]]
    assert (len(examples), examples.answers) == (2, 6)


def test_a_shard_comes_back_from_its_folder(tmp_path: Path) -> None:
    mine = Examples(ARRAYS["train-images"], ARRAYS["train-labels"], 16).take(np.array([4, 1]))
    shard.write(tmp_path / "s", mine)
    back = shard.read(tmp_path / "s")
    assert np.array_equal(back.inputs, mine.inputs) and np.array_equal(back.labels, mine.labels)
    assert back.scale == 16 and len(back) == 2
    (tmp_path / "s" / "labels.npy").unlink()
    with pytest.raises(DataError, match=r"s is not a shard: .*labels\.npy"):
        shard.read(tmp_path / "s")


@pytest.mark.parametrize("name", FIRST)
def test_is_the_data_that_everyone_means(name: str) -> None:
    if not store.folder(name).exists():
        pytest.skip(f"{name} is not here: make data")
    labels = datasets.load(name).train.labels
    first, histogram = FIRST[name]
    assert labels[:5].tolist() == first
    assert np.bincount(labels).tolist() == histogram
