"""A server under attack by hostile devices and by strangers: it lives, and the honest work on."""

import pytest

from tests.hostile import outcome
from tests.hostile.siege import Order, lay

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    ("messages", "encrypted"), [(20_000, False), (10_000, True)], ids=["plain", "curve"]
)
def test_hostile_messages_harm_nobody(messages, encrypted, tmp_path):
    siege = lay(Order(messages, 4000, 0.5, 7, encrypted), tmp_path, print)
    log = outcome.logged(tmp_path / "server" / "run.jsonl")
    print(outcome.table(siege, log))
    assert outcome.complaints(siege, log) == []
