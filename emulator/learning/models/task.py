"""Task of a model: the shape of its inputs and the kind of answers. Data sets fit by task."""

import math
from dataclasses import dataclass
from typing import Literal

from ...errors import counted


@dataclass(frozen=True)
class Task:
    """Classification or regression of images, vectors or token ids, or prediction of the next
    character at each position of a text.

    A model takes inputs as `Examples.batch` returns them: float32 [batch, values], flat, with
    `values` numbers an example. Labels of classes are int32 [batch], or [batch, length] for texts;
    targets of a regression are float32 [batch, targets].
    """

    inputs: Literal["images", "texts", "vectors", "tokens"]
    shape: tuple[int, ...]
    """Shape of one input: height and width of an image, and its channels if it has several; the
    numbers of a vector; the characters of a text, or its token ids."""
    classes: int = 0
    """Number of classes of an answer; for texts, the size of the alphabet. 0 for a regression."""
    targets: int = 0
    """Numbers of an answer of a regression; 0 for a classification."""
    vocabulary: int = 0
    """Number of token ids, which count from 0; for a model, 0 if its vocabulary is not known. 0 for
    inputs that are not tokens. Float32 holds each id below 2^24 exactly."""

    def __post_init__(self) -> None:
        if (self.classes > 0) == (self.targets > 0):
            raise ValueError(
                f"{self.classes} classes and {self.targets} targets: write one of them"
            )
        if self.inputs == "texts" and self.targets:
            raise ValueError("texts are predicted by character, so they have classes, no targets")

    @property
    def values(self) -> int:
        """Count of numbers in an input."""
        return math.prod(self.shape)

    @property
    def regression(self) -> bool:
        """Whether answers are numbers, not classes."""
        return self.targets > 0

    @property
    def answers(self) -> tuple[int, ...]:
        """Shape of the labels of one input: () for a class, (length,) for a text, (targets,) for a
        regression."""
        if self.regression:
            return (self.targets,)
        return self.shape if self.inputs == "texts" else ()

    @property
    def outputs(self) -> tuple[int, ...]:
        """Shape of a model's outputs for one input: (classes,), (length, classes) for texts, or
        (targets,) for a regression."""
        return self.answers if self.regression else (*self.answers, self.classes)

    def takes(self, data: "Task") -> bool:
        """Return whether a model of this task learns from examples of the task `data`.

        The model may have more classes than `data`, and more token ids. An image with one channel
        is an image without the axis of channels, and a vector may hold the pixels of an image.
        """
        return (
            self._reads(data)
            and self.targets == data.targets
            and self.classes >= data.classes
            and (not self.vocabulary or self.vocabulary >= data.vocabulary)
        )

    def _reads(self, data: "Task") -> bool:
        """Return whether the inputs have the kind and shape of those of `data`."""
        if self.inputs == "vectors" and data.inputs == "images":
            return self.values == data.values
        return (self.inputs, self._size) == (data.inputs, data._size)

    @property
    def _size(self) -> tuple[int, ...]:
        """The shape without an axis of a single channel."""
        grey = self.inputs == "images" and len(self.shape) == 3 and self.shape[2] == 1
        return self.shape[:2] if grey else self.shape

    def __str__(self) -> str:
        size = " × ".join(map(str, self.shape))
        if self.inputs == "texts":
            return f"texts of {size} characters, out of {self.classes}"
        kinds = {"images": f"images of {size}", "vectors": f"vectors of {size} numbers"}
        out_of = f", out of {self.vocabulary:,}" if self.vocabulary else ""
        inputs = kinds.get(self.inputs, f"texts of {size} token ids{out_of}")
        if self.regression:
            return f"{inputs}, with {counted(self.targets, 'target')}"
        return f"{inputs}, in {self.classes} classes"
