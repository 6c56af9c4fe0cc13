"""Messages of 100 kB to 10 MB on new connections take true netem's times behind the box."""

import os

import pytest

from tests.containers.host_pace import tries
from tests.netem.box import TBF, PacketBox
from tests.netem.true_times import TRANSFERS, transfer

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces"),
    pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="needs /dev/net/tun"),
]
TRIES = 3


@pytest.mark.parametrize(("size", "rate", "delay"), TRANSFERS)
def test_a_message_takes_netem_s_time(box: PacketBox, size: int, rate: float, delay: float) -> None:
    """Within 2 % in one of `TRIES` tries: other work of the host can delay a message."""
    netem = TRANSFERS[size, rate, delay]
    for longer in tries(TRIES):
        factor = transfer(box, TBF, size, rate, delay) / netem
        print(f"{size / 1e3:.0f} kB, {rate / 1e6:.0f} mbit: {factor}, {longer():.3f} by the host")
        if 0.98 <= factor <= 1.02 * longer():
            return
    raise AssertionError(f"{factor} times as long as over netem, {TRIES} times in a row")
