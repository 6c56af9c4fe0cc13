"""Every synchronization, with other settings too."""

import pytest

from emulator.synchronization import (
    Asynchronous,
    Barrier,
    Bounded,
    ComputeGroups,
    FedAvg,
    LocalSGD,
    Softsync,
)
from emulator.units import Fraction, Seconds

TABLE = [
    pytest.param(Asynchronous(), id="asynchronous"),
    pytest.param(Barrier(), id="barrier"),
    pytest.param(Barrier(Fraction.parse("50%"), Seconds.parse("5s")), id="barrier-half"),
    pytest.param(Bounded(bound=0, patience=Seconds(5)), id="bounded-0"),
    pytest.param(Bounded(bound=2, patience=Seconds(5)), id="bounded-2"),
    pytest.param(Softsync(splits=2), id="softsync"),
    pytest.param(ComputeGroups(1, patience=Seconds(5)), id="groups-1"),
    pytest.param(ComputeGroups(2, patience=Seconds(5)), id="groups-2"),
    pytest.param(ComputeGroups(3, patience=Seconds(5)), id="groups-3"),
    pytest.param(ComputeGroups(4, patience=Seconds(5)), id="groups-4"),
    pytest.param(FedAvg(Fraction(0.5), patience=Seconds(5)), id="fedavg"),
    pytest.param(LocalSGD(steps=5, patience=Seconds(5)), id="local-sgd"),
]
