"""What is asked of a model: which inputs, and what answers. It fits the data sets of its task."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Task:
    """To name an image's class, or the next character after each one of a text."""

    inputs: Literal["images", "texts"]
    shape: tuple[int, ...]
    """Of one input: an image's height and width, or how many characters a text has."""
    classes: int
    """What each answer is one of; with texts, the characters of the alphabet."""

    @property
    def answers(self) -> tuple[int, ...]:
        """The shape of one input's labels: a single one for an image, one a character of a text."""
        return self.shape if self.inputs == "texts" else ()

    def __str__(self) -> str:
        size = " × ".join(map(str, self.shape))
        if self.inputs == "texts":
            return f"texts of {size} characters, out of {self.classes}"
        return f"images of {size}, in {self.classes} classes"
