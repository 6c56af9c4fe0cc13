"""A calibration that nobody measured, and an empty cache to keep it in."""

from pathlib import Path

import pytest

from emulator import calibration
from emulator.calibration import Calibration, measuring
from emulator.codecs import TopK
from emulator.units import Fraction, Seconds
from emulator.world.laws import Fixed, LogNormal

ROOT = Path(__file__).parents[2]
CODEC = TopK(keep=Fraction(0.01))
FOUND = Calibration(
    host="here",
    processor="Some Processor",
    date="2026-05-17",
    model="digits-mlp",
    batch_size=10,
    codec="topk 1%",
    step=LogNormal((Seconds(0.00406), 0.0712)),
    boot=Fixed(Seconds(0.412)),
    serve=Fixed(Seconds(0.00182)),
)


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, on a host that is called `here`."""
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path / "cache"))
    for place in (calibration, measuring):
        monkeypatch.setattr(place, "here", lambda: ("here", "Some Processor"))
    return tmp_path / "cache" / "calibration"
