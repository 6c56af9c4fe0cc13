"""Checksums of messages, and the flipped bits that they find."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core import wire
from emulator.core.wire.messages import Pull, Update
from emulator.core.zmtp import Form
from emulator.errors import WireError
from emulator.world.faults.corrupt import Garbler

FRAMES = st.lists(st.binary(max_size=300), min_size=1, max_size=5)


@given(FRAMES)
def test_frames_come_out_as_they_went_in(frames: list[bytes]) -> None:
    sealed = wire.sealed(frames)
    assert len(sealed[-1]) == wire.CHECKSUM
    assert wire.opened(sealed) == frames


@given(FRAMES, st.integers(0, 1000))
def test_flipped_bits_are_always_found(frames: list[bytes], incarnation: int) -> None:
    sealed = wire.sealed(frames)
    garbled = Garbler(7, "a", incarnation).garble(sealed)
    assert list(map(len, garbled)) == list(map(len, sealed))
    changed = [
        a ^ b for x, y in zip(garbled, sealed, strict=True) for a, b in zip(x, y, strict=True)
    ]
    assert len([bits for bits in changed if bits]) == 1
    with pytest.raises(WireError, match="its checksum does not match: bits were flipped"):
        wire.opened(garbled)


def test_a_message_without_a_checksum_is_refused() -> None:
    for frames in ([], [b"abc"], [b"head", b"array"]):
        with pytest.raises(WireError, match="checksum"):
            wire.opened(frames)


def test_the_share_is_that_of_the_setting() -> None:
    garbler = Garbler(7, "a", 0)
    struck = [garbler.strikes({"share": 0.2}) for _ in range(5000)]
    assert sum(struck) == pytest.approx(1000, rel=0.1)
    assert not any(garbler.strikes(None) for _ in range(10))
    again = Garbler(7, "a", 0)
    assert [again.strikes({"share": 0.2}) for _ in range(5000)] == struck
    other = Garbler(7, "b", 0)
    assert [other.strikes({"share": 0.2}) for _ in range(5000)] != struck


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_checksum_is_charged_as_the_frame_that_it_is(encrypted: bool) -> None:
    pull, more = Pull("a", 3), 2 + 4 + 33 * encrypted
    plain = wire.size(pull, Form(encrypted))
    assert wire.size(pull, Form(encrypted, checked=True)) == plain + more
    update = Update("a", 3, 0.5, 0.1, (bytes(400),))
    assert wire.size(update, Form(encrypted, checked=True)) == (
        wire.size(update, Form(encrypted)) + more
    )
