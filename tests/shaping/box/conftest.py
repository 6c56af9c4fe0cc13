"""The box that the tests of a module share."""

from collections.abc import Iterator

import pytest

from tests.netem.box import PacketBox, packet_box


@pytest.fixture(scope="module")
def box() -> Iterator[PacketBox]:
    with packet_box() as box:
        yield box
