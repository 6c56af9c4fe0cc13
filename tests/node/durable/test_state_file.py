"""A state's file is read whole or not at all."""

import errno
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.node.durable import state_folder
from emulator.node.durable.packed_state import PackedState
from emulator.node.durable.state_folder import FORMAT, read_state, write_state

FACTS = {"version": 3, "now": 1.25}
STATE = PackedState(["array", 0], [np.arange(5, dtype=np.float32)])


def content(folder) -> bytes:
    path = folder / "state.npz"
    if not path.exists():
        assert write_state(path, FACTS, STATE) == path.stat().st_size
    return path.read_bytes()


def test_it_gives_back_the_state_and_is_an_npz_file(tmp_path):
    content(tmp_path)
    facts, state = read_state(tmp_path / "state.npz")
    assert facts == FACTS and state.tree == STATE.tree
    assert [leaf.tobytes() for leaf in state.leaves] == [leaf.tobytes() for leaf in STATE.leaves]
    with np.load(tmp_path / "state.npz", allow_pickle=False) as members:
        assert (members["leaf0"] == STATE.leaves[0]).all()
    assert [path.name for path in tmp_path.iterdir()] == ["state.npz"]


def test_unfinished_states_go(tmp_path, monkeypatch):
    """Those of a full disk at once, that of a killed server as the next one has recovered."""
    folder = state_folder.StateFolder(tmp_path)
    (tmp_path / ".state-000000000007.npz.part").write_bytes(bytes(9))
    folder.discard_from(0)
    assert not list(tmp_path.iterdir())

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_state(tmp_path / "state.npz", FACTS, STATE)
    assert not list(tmp_path.iterdir())


def test_cut_at_every_byte_it_is_no_state(tmp_path):
    whole, path = content(tmp_path), tmp_path / "cut.npz"
    path.write_bytes(whole)
    for length in reversed(range(len(whole))):
        os.truncate(path, length)
        assert read_state(path) is None
    assert read_state(tmp_path / "missing.npz") is None


@settings(max_examples=60, deadline=None)
@given(bit=st.integers(0, 10**6))
def test_with_any_flipped_bit_it_is_no_state(bit, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    damaged = bytearray(content(folder))
    bit %= 8 * len(damaged)
    damaged[bit // 8] ^= 1 << bit % 8
    (folder / "flipped.npz").write_bytes(damaged)
    assert read_state(folder / "flipped.npz") is None


def test_a_state_of_another_format_is_refused_by_its_number(tmp_path, monkeypatch):
    monkeypatch.setattr(state_folder, "FORMAT", 1)
    content(tmp_path)
    monkeypatch.undo()
    with pytest.raises(ValueError, match=f"state of format 1, .* reads format {FORMAT}"):
        read_state(tmp_path / "state.npz")
