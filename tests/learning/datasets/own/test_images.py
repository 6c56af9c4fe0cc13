"""Folders of images by class: what is read, and what is refused with its file."""

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from emulator.learning import datasets
from emulator.learning.datasets.own import OwnDataset, kept_data
from emulator.learning.models.task import Task

from .given import RNG, mistakes


def image(path: Path, shape: tuple[int, ...] = (6, 5, 3)) -> np.ndarray:
    """Write a random image, and return its pixels."""
    pixels = RNG.integers(0, 256, shape, np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return pixels


def photos(folder: Path, parts: tuple[str, ...] = ("train/", "test/")) -> Path:
    """Write a good folder of images in two classes."""
    for part in parts:
        for label in ("cat", "dog"):
            for number in range(5):
                image(folder / "photos" / f"{part}{label}" / f"{number}.png")
    return folder / "photos"


def test_a_folder_of_images_has_its_classes_by_name(tmp_path: Path) -> None:
    folder = photos(tmp_path)
    cat, dog = image(folder / "train/cat/0.png"), image(folder / "test/dog/deep/down/9.png")
    image(folder / "train/dog/grey.jpg", (6, 5))  # converted, as others have colour
    (folder / ".DS_Store").write_bytes(b"")
    kept = kept_data.resolved(OwnDataset(str(folder)))
    data = datasets.load(kept)
    assert datasets.describe(kept).task == Task("images", (6, 5, 3), classes=2)
    assert (data.class_names, data.rows) == (("cat", "dog"), None)
    assert data.train.labels.tolist() == [0] * 5 + [1] * 6
    assert (data.train.inputs[0] == cat).all()
    assert (data.test.inputs[-1] == dog).all()
    image(folder / "train/cat/0.png")
    assert kept_data.resolved(OwnDataset(str(folder))).sha256 != kept.sha256


def test_grey_images_have_no_axis_of_channels_and_any_may_be_resized(tmp_path: Path) -> None:
    for number in range(10):
        image(tmp_path / f"photos/{number % 2}/{number}.png", (6 + number, 5))
    kept = kept_data.resolved(OwnDataset(str(tmp_path / "photos"), size=(8, 8)))
    assert datasets.describe(kept).task == Task("images", (8, 8), classes=2)
    assert datasets.describe(kept).sizes == {"train": 8, "test": 2}


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("ending", ["jpg", "png", "webp"])
def test_images_are_read_as_a_viewer_shows_them(
    tmp_path: Path, ending: str, orientation: int
) -> None:
    """The left upper corner, as seen, is dark; the size is that of the picture as seen."""
    seen = Image.fromarray(
        np.kron([[0, 255, 255], [255, 255, 255]], np.ones((16, 16))).astype("u1")
    )
    turned = (
        next(
            seen.transpose(how)
            for how in [*Image.Transpose]
            if _shown(seen.transpose(how), orientation).tobytes() == seen.tobytes()
        )
        if orientation > 1
        else seen
    )
    exif = Image.Exif()
    exif[0x0112] = orientation
    for number in range(5):
        for label in ("a", "b"):
            file = tmp_path / "photos" / label / f"{number}.{ending}"
            file.parent.mkdir(parents=True, exist_ok=True)
            turned.convert("RGB").save(file, exif=exif)
    kept = kept_data.resolved(OwnDataset(str(tmp_path / "photos")))
    pixels = datasets.load(kept).train.inputs[0].mean(2)
    assert pixels.shape == (32, 48)
    assert pixels[:12, :12].max() < 60 and pixels[:12, 20:].min() > 190 < pixels[20:].min()


def _shown(image: Image.Image, orientation: int) -> Image.Image:
    image.getexif()[0x0112] = orientation
    return ImageOps.exif_transpose(image)


def test_a_picture_with_damaged_exif_is_read_as_it_is(tmp_path: Path) -> None:
    for number in range(10):
        file = tmp_path / f"photos/{number % 2}/{number}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (5, 6)).save(file, exif=b"Exif\0\0II*\0\xff\xff\xff\x00rubbish")
    kept = kept_data.resolved(OwnDataset(str(tmp_path / "photos")))
    assert datasets.describe(kept).task == Task("images", (6, 5, 3), classes=2)


def test_every_mistake_in_a_folder_is_reported_with_its_file(tmp_path: Path) -> None:
    folder = photos(tmp_path)
    (folder / "train/emu").mkdir()
    (folder / "train/cat/notes.txt").write_text("no image")
    (folder / "train/cat/broken.png").write_bytes((folder / "train/cat/0.png").read_bytes()[:40])
    (folder / "train/loose.png").write_bytes((folder / "train/cat/0.png").read_bytes())
    (folder / "valid").mkdir()
    image(folder / "test/cow/0.png")
    found = [line.partition(" (named")[0] for line in mistakes(tmp_path, "./photos")]
    assert found == [
        "photos/test/cow: the training set has no class of this name",
        "photos/train/emu: has no image: a class needs an example",
        "photos/train/loose.png: is in no class: move it into the folder of its class",
        "photos/valid: is neither `train` nor `test`",
    ]


def test_files_that_are_no_images_are_reported_together(tmp_path: Path) -> None:
    folder = photos(tmp_path)
    whole = (folder / "train/cat/0.png").read_bytes()
    (folder / "train/cat/notes.txt").write_text("no image")
    (folder / "train/cat/empty.png").write_bytes(b"")
    (folder / "train/dog/small.png").unlink(missing_ok=True)
    image(folder / "train/dog/small.png", (3, 5, 3))
    Image.fromarray(RNG.integers(0, 60000, (6, 5)).astype(np.uint16)).save(
        folder / "test/dog/9.png"
    )
    # the head claims 40,000 x 40,000 pixels
    head = struct.pack(">II", 40_000, 40_000) + whole[24:29]
    crc = struct.pack(">I", zlib.crc32(b"IHDR" + head))
    (folder / "train/dog/bomb.png").write_bytes(whole[:16] + head + crc + whole[33:])
    found = [line.partition(" (named")[0] for line in mistakes(tmp_path, "./photos")]
    assert [line.partition(":")[0] for line in found] == [
        "photos/test/dog/9.png",
        "photos/train/cat/empty.png",
        "photos/train/cat/notes.txt",
        "photos/train/dog/bomb.png",
        "photos/train/dog/small.png",
    ]
    assert "mode I;16: 8 bits" in found[0]
    assert "is no image that can be read: PNG, JPEG, BMP, PPM, WEBP were expected" in found[1]
    assert "is no image that can be read" in found[2]
    assert "decompression bomb" in found[3] or "pixels" in found[3]
    assert found[4].endswith(
        "has 3 × 5 pixels, and 0.png 6 × 5: write `size: [6, 5]` to resize the images"
    )


def test_an_image_with_a_good_head_and_no_body_is_refused(tmp_path: Path) -> None:
    folder = photos(tmp_path)
    whole = (folder / "train/cat/0.png").read_bytes()
    (folder / "train/cat/0.png").write_bytes(whole[:60])
    (found,) = mistakes(tmp_path, "./photos")
    assert found.startswith("photos/train/cat/0.png: is no image that can be read: ")


def test_the_first_of_many_equal_mistakes_are_named(tmp_path: Path) -> None:
    folder = photos(tmp_path)
    for number in range(9):
        image(folder / f"train/dog/small{number}.png", (3, 5, 3))
        (folder / f"test/cat/{number}.txt").touch()
        (folder / f"train/{number}.txt").touch()
    found = mistakes(tmp_path, "./photos")
    assert len(found) == 3 and "train/2.txt: is in no class" in found[2]
    for number in range(9):
        (folder / f"train/{number}.txt").unlink()
    found = mistakes(tmp_path, "./photos")
    assert len(found) == 6 and "(and 6 more like it)" in found[2], found


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(photos(tmp_path) / "train/cat/pipe.png")
    (found,) = mistakes(tmp_path, "./photos")
    assert found.startswith("photos/train/cat/pipe.png: cannot be read: it is neither a file nor a")


@pytest.mark.parametrize(
    ("make", "keys", "expected"),
    [
        ("nothing", "", "photos: cannot be read: No such file or directory"),
        ("empty", "", "photos: has no folder: one for each class was expected"),
        ("one", "", "photos: has a single class: there is nothing to tell apart"),
        ("test", "", "photos: has a folder `test` and no folder `train`"),
        ("Test", "", "photos/Test: is no class: name the parts `train` and `test`"),
        (os.fsdecode(b"caf\xe9"), "", "photos/caf\udce9: has a name that is no text in UTF-8"),
        ("good", "owners: writer", "photos: a folder has no columns for `owners`: write"),
        ("good", "label: x", "scenario.yaml:2: training.dataset.label: names a column, and only"),
        ("file", "", "photos: is no data: a .npz, .csv or .parquet file, a folder of images"),
    ],
)
def test_a_wrong_folder_is_refused(tmp_path: Path, make: str, keys: str, expected: str) -> None:
    if make in ("empty", "test"):
        (tmp_path / "photos" / make.replace("empty", "")).mkdir(parents=True)
    if make == "one":
        image(tmp_path / "photos/cat/0.png")
        image(tmp_path / "photos/cat/1.png")
    if make == "good":
        photos(tmp_path)
    if make in ("Test", os.fsdecode(b"caf\xe9")):
        image(photos(tmp_path, ("",)) / make / "0.png")
    if make == "file":
        (tmp_path / "photos").write_text("text")
    (found,) = mistakes(tmp_path, f"{{file: ./photos, {keys}}}")
    assert found.startswith(expected)
