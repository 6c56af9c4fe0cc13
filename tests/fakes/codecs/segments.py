"""Layouts of several layers, and ways to cut them into the segments of a push."""

from collections.abc import Iterable

from hypothesis import strategies as st

from emulator.layout import Kind, Layout, Segment, Variable

KINDS: list[Kind] = ["conv", "dense", "recurrent"]
_SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)


def layered(*layers: list[tuple[Kind, tuple[int, ...]]]) -> Layout:
    """A layout of layers, each with the kinds and shapes of its variables."""
    return Layout(
        tuple(
            Variable(f"v{number}.{index}", shape, kind, number)
            for number, layer in enumerate(layers)
            for index, (kind, shape) in enumerate(layer)
        )
    )


LAYERED = layered(
    [("conv", (5, 5, 1, 20)), ("bias", (20,))],
    [("conv", (3, 3, 20, 40)), ("bias", (40,))],
    [("dense", (190, 101)), ("bias", (101,))],
    [("recurrent", (331, 64)), ("bias", (64,))],
)
"""Four layers of 520 to 21,248 parameters, at odd places."""


def layouts() -> st.SearchStrategy[Layout]:
    """Layouts of one to five layers with one to three variables."""
    variable = st.tuples(st.sampled_from([*KINDS, "bias"]), _SHAPES)
    layer = st.lists(variable, min_size=1, max_size=3)
    return st.lists(layer, min_size=1, max_size=5).map(lambda layers: layered(*layers))


def cut(layout: Layout, after: Iterable[int]) -> list[Segment]:
    """The segments of a push, last layers first, cut after the layers `after`."""
    ends = sorted({*after, len(layout.layers)})
    starts = [1, *(end + 1 for end in ends[:-1])]
    return list(zip(starts, ends, strict=True))[::-1]


def cuts_of(layout: Layout) -> st.SearchStrategy[list[Segment]]:
    """Any segments of a push of `layout`."""
    most = len(layout.layers) - 1
    after = st.sets(st.integers(1, most)) if most else st.just(set[int]())
    return after.map(lambda places: cut(layout, places))
