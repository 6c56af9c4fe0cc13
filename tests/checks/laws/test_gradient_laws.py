"""What a plugin returns as a gradient is one of the layout, or the law that it breaks is named."""

from typing import Any

import numpy as np
import pytest

from emulator.checks.laws.codec_laws import BrokenLaw, check_gradient
from emulator.codecs import Gradient
from emulator.layout import Layout, Variable

LAYOUT = Layout((Variable("w", (4,), "dense", 0),))


def gradient(values: Any, *indices: int, kind: Any = np.uint32) -> Gradient:
    return Gradient(np.array(values, np.float32), np.array(indices, kind))


BROKEN: dict[str, tuple[Any, str]] = {
    "no gradient": (np.zeros(4, np.float32), "a ndarray: a Gradient was expected"),
    "float64": (Gradient(np.zeros(4)), "not one vector of float32"),  # type: ignore[arg-type]
    "a matrix": (Gradient(np.zeros((2, 2), np.float32)), "not one vector of float32"),
    "not a number": (gradient([np.nan], 1), "values that are not finite"),
    "an infinity": (gradient([1, -np.inf], 1, 2), "values that are not finite"),
    "too few values": (Gradient(np.zeros(3, np.float32)), "3 values for 4 parameters"),
    "too many values": (Gradient(np.zeros(5, np.float32)), "5 values for 4 parameters"),
    "signed indices": (gradient([1], 1, kind=np.int32), "not one uint32 for each value"),
    "an index too few": (gradient([1, 2], 1), "not one uint32 for each value"),
    "an index of no parameter": (gradient([1], 4), "index 4 of 4 parameters"),
    "an index twice": (gradient([1, 2], 1, 1), "indices that do not ascend"),
    "indices that descend": (gradient([1, 2], 2, 1), "indices that do not ascend"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_gradient_of_the_layout_is_told(name: str) -> None:
    found, said = BROKEN[name]
    with pytest.raises(BrokenLaw, match=f"^combine returns .*{said}"):
        check_gradient(found, LAYOUT, "combine")


@pytest.mark.parametrize(
    "found",
    [
        Gradient(np.zeros(4, np.float32)),
        gradient([]),
        gradient([1], 3),
        gradient([1, 2, 3, 4], 0, 1, 2, 3),
    ],
    ids=["dense", "empty", "the last", "all"],
)
def test_a_gradient_of_the_layout_is_taken(found: Gradient) -> None:
    check_gradient(found, LAYOUT)
