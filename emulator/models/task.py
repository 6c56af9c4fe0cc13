"""Task of a model: the shape of its inputs and the kind of answers. Data sets fit by task."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Task:
    """Classification of images, or prediction of the next character at each position of a text."""

    inputs: Literal["images", "texts"]
    shape: tuple[int, ...]
    """Shape of one input: height and width of an image, or the number of characters of a text."""
    classes: int
    """Number of classes of an answer; for texts, the size of the alphabet."""

    @property
    def answers(self) -> tuple[int, ...]:
        """Shape of the labels of one input: () for an image, (length,) for a text."""
        return self.shape if self.inputs == "texts" else ()

    def __str__(self) -> str:
        size = " × ".join(map(str, self.shape))
        if self.inputs == "texts":
            return f"texts of {size} characters, out of {self.classes}"
        return f"images of {size}, in {self.classes} classes"
