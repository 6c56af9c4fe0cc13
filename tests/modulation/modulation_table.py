"""Every modulation."""

import pytest

from emulator.modulation import Constant, PerParameter, Staleness

TABLE = [
    pytest.param(Constant(), id="constant"),
    pytest.param(Staleness(), id="staleness"),
    pytest.param(PerParameter(), id="per-parameter"),
]
