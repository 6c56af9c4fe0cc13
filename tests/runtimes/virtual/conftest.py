"""Runs of the small world that several modules look at."""

import pytest

from tests.fakes.virtual.overlapping_faults import OVERLAPPING, Played
from tests.fakes.virtual_world import played


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The scenario played as it stands, to be looked at."""
    return played(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def overlapping(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The same scenario with overlapping faults."""
    return played(tmp_path_factory.mktemp("overlapping"), text=OVERLAPPING)
