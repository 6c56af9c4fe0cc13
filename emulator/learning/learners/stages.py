"""Stages of an iteration: the forward pass of one layer, or the backward pass of one layer.

A model of L layers has 2 · L stages: forward from layer 1 to L, then backward from layer L to 1.
All stages are parts of one graph. A stage runs when its inputs are fed and its outputs fetched.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stage:
    """Names of the tensors that enter and leave a stage, as `operation:index`."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @classmethod
    def read(cls, plain: dict[str, Any]) -> "Stage":
        """Build a stage from its JSON form, a mapping of `inputs` and `outputs`."""
        return cls(tuple(plain["inputs"]), tuple(plain["outputs"]))


def read_from_outside(stages: Sequence[Stage]) -> list[str]:
    """Return the names of the tensors that `stages` read, without tensors that `stages` compute."""
    produced = {name for stage in stages for name in stage.outputs}
    read = dict.fromkeys(name for stage in stages for name in stage.inputs)
    return [name for name in read if name not in produced]


def unread_after(stages: Sequence[Stage]) -> list[list[str]]:
    """Return, for each stage, the names of the tensors to free after the stage.

    A tensor is freed after the last stage that reads the tensor.
    """
    produced = {name for stage in stages for name in stage.outputs}
    last: dict[str, int] = {}
    for number, stage in enumerate(stages):
        last.update(dict.fromkeys([*stage.outputs, *stage.inputs], number))
    freed: list[list[str]] = [[] for _ in stages]
    for name, number in last.items():
        if name in produced:
            freed[number].append(name)
    return freed
