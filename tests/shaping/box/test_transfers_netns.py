"""Messages of 100 kB to 10 MB on new connections take true netem's times behind the box."""

import os

import pytest

from tests.containers.host_pace import judged
from tests.netem.box import TBF, PacketBox
from tests.netem.true_times import TRANSFERS, transfer

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces"),
    pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="needs /dev/net/tun"),
]


LONG = 5.0
"""Seconds of a message that `make test-all` alone plays."""


@pytest.mark.parametrize(
    ("size", "rate", "delay"),
    [
        pytest.param(*case, marks=[pytest.mark.thorough] * (seconds > LONG))
        for case, seconds in TRANSFERS.items()
    ],
)
def test_a_message_takes_netem_s_time(box: PacketBox, size: int, rate: float, delay: float) -> None:
    """Within 2 % in one of two tries: other work of the host can delay a message."""
    netem = TRANSFERS[size, rate, delay]
    judged(
        lambda: transfer(box, TBF, size, rate, delay) / netem,
        lambda factor, longer: 0.98 <= factor <= 1.02 * longer,
    )
