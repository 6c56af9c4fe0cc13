"""The gate's recorded times are within its budget, and have each module of container tests."""

import json

import pytest

from tests.gate.times import KEPT

BUDGET = 25 * 60
"""Seconds of `make test` on two cores, with what comes before the tests."""
BEFORE = 90
"""Seconds for the installation, the linters and the image."""
LANES = {"quick", "slow", "beside", "alone", "times"}


@pytest.fixture(scope="module")
def lanes() -> dict[str, dict[str, object]]:
    return json.loads(KEPT.read_text())
