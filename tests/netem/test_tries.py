"""Assertions about a machine's random numbers are asked of a second machine, and no third."""

import pytest

from tests.netem.tries import Tries, tried_twice


@tried_twice
def _is_small(measured: int, most: int) -> None:
    assert measured <= most


@pytest.mark.parametrize(("machines", "booted"), [([1, 9], 1), ([9, 1], 2)])
def test_what_one_of_two_machines_shows_passes(machines: list[int], booted: int) -> None:
    unused = list(machines)
    tries = Tries(lambda: unused.pop(0))
    _is_small(measured=tries, most=5)
    _is_small(measured=tries, most=5)
    assert len(machines) - len(unused) == booted


def test_what_no_machine_shows_fails() -> None:
    unused = [9, 8, 1]
    with pytest.raises(AssertionError):
        _is_small(measured=Tries(lambda: unused.pop(0)), most=5)
    assert unused == [1]
