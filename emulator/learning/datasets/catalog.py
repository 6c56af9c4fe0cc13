"""Catalogue of the data sets: shapes, sizes, and digests that identify their bytes."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import suggestion
from ..models.task import Task

SETS = ("train", "test")
"""The examples to learn from, and the examples of the accuracy test."""


@dataclass(frozen=True)
class Description:
    """A data set in four parts of bytes: `train-images`, `train-labels`, and the same for
    `test`."""

    name: str
    task: Task
    scale: int
    """Divisor of the inputs: the brightest level of a pixel, or 1 for texts."""
    sizes: Mapping[str, int]
    """Number of examples in `train` and in `test`."""
    digests: Mapping[str, str]
    """SHA-256 of the bytes of each part, in C order and without any header."""
    notes: tuple[str, ...] = ()
    """Doubts about how the data was understood, each with its remedy."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the four parts: inputs and labels of `train`, then of `test`."""
        contents = self.task.inputs, "labels"
        return tuple(f"{name}-{content}" for name in SETS for content in contents)

    def shape(self, part: str) -> tuple[int, ...]:
        """Return the shape of the array of `part`."""
        name, content = part.split("-")
        return (self.sizes[name], *(self.task.answers if content == "labels" else self.task.shape))


MNIST = Description(
    "mnist",
    Task("images", (28, 28), classes=10),
    scale=255,
    sizes={"train": 60_000, "test": 10_000},
    digests={
        "train-images": "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
        "train-labels": "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
        "test-images": "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
        "test-labels": "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
    },
)

FASHION_MNIST = Description(
    "fashion-mnist",
    Task("images", (28, 28), classes=10),
    scale=255,
    sizes={"train": 60_000, "test": 10_000},
    digests={
        "train-images": "2e487a6c89124f78f2d7521542223cafe96f7123c3ca13d447772ac6ecbb3012",
        "train-labels": "657fbd221bfc9f4198cc14b5619cc33ec57c58dd0e47af4d99d6650759e869a7",
        "test-images": "c867c93ff95360594e8ec3287995350b824dd110b11595c0e13d5423f621867a",
        "test-labels": "3d0e6c6ea990b53b6f8f500a41cac93881d981b315f84578b7d915342ade01e9",
    },
)

DIGITS = Description(
    "digits",
    Task("images", (8, 8), classes=10),
    scale=16,
    sizes={"train": 1437, "test": 360},
    digests={
        "train-images": "194fbb7c383202d2e416cf1e7022405ef3a5e078e5489156667c337d2e3b2b3d",
        "train-labels": "95f02b01ab83ad7456be3ce44ed05ffdd5aa7f0270c7da2d5f1434e43e76b882",
        "test-images": "9f958e31e037f4fd184c40b8a5f246a0177f1dc8cdf88ad5286b935dc7cfc76d",
        "test-labels": "2c204469afa191739df16b10455a7d4cd670c316c70d43c76471828b7310fc0a",
    },
)

SHAPES = Description(
    "shapes",
    Task("images", (32, 32, 3), classes=10),
    scale=255,
    sizes={"train": 10_000, "test": 2000},
    digests={
        "train-images": "803e9084b6f6cf05378506da15274d3d685c1de3b47b62003f8c3d1edbe6f043",
        "train-labels": "021a9e8cb0e8ac671d55dfe9eadb15ff53fef6b8b08656f420863d181727041a",
        "test-images": "6cf9a422833c7f36e5fba9b6021e5d8b8a6863a5bbeb046c95a4bc2321505471",
        "test-labels": "1e7f5d47947fcbf65123c7a7568ac05575c30e4ca33fa2073152e5f7c7b721f8",
    },
)

SENTENCES = Description(
    "sentences",
    Task("texts", (50,), classes=32),
    scale=1,
    sizes={"train": 20_000, "test": 1000},
    digests={
        "train-texts": "ec46d8ed423f53dd5b12a8e948ce638da83bca2d410f30ec6799274e497af6ac",
        "train-labels": "f868ccd2fb6c902dc7db02808c933899c9c6c5c2352eab64a5cf262b6d55ee0f",
        "test-texts": "1db0e635b1a4909aac61b6ed86f885372bad293ca6c80c6024646f09cbe0fb18",
        "test-labels": "f2b4cdf225247a3055267cc7ee6a9e90e050fa7eca1f63f698475cdd72052acb",
    },
)

DATASETS = {dataset.name: dataset for dataset in (MNIST, FASHION_MNIST, DIGITS, SHAPES, SENTENCES)}


def find(name: str) -> Description:
    """Return the data set called `name`. Raises ValueError with the known names and a
    suggestion."""
    if name in DATASETS:
        return DATASETS[name]
    raise ValueError(f"{name!r}{suggestion(name, DATASETS)} is not {' or '.join(DATASETS)}")
