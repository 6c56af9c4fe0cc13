"""Parts of a layout: what they hold, and how many are kept at hand."""

from emulator.layout import PARTS_PER_LAYER, Layout, Variable

LAYERS = 40
LAYOUT = Layout(
    tuple(Variable(f"v{number}", (number + 1,), "dense", number) for number in range(LAYERS))
)


def test_a_layout_keeps_few_parts_for_a_peer_that_asks_for_all() -> None:
    for last in range(1, LAYERS + 1):
        for first in range(1, last + 1):
            part = LAYOUT.part((first, last))
            assert part is LAYOUT.part((first, last))
            assert part.size == sum(range(first, last + 1))
    assert len(LAYOUT._parts) == PARTS_PER_LAYER * LAYERS < LAYERS * (LAYERS + 1) / 2
