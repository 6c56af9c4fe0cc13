"""Every key of a side of a link, with values."""

from typing import Any

from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.loss_models import FourStates, Gemodel, LossModel

KEYS: dict[str, list[dict[str, Any]]] = {
    "rate": [{"rate": Rate(100)}, {"rate": Rate(99e9)}],
    "delay": [{"delay": Seconds(0.001)}, {"delay": Seconds(3600)}],
    "jitter": [{"delay": Seconds(0.001), "jitter": Seconds(0.001)}],
    "loss": [{"loss": Fraction(0.001)}],
    "setup": [{"setup": Seconds(0.1)}],
    "distribution": [
        {"delay": Seconds(0.001), "jitter": Seconds(0.001), "distribution": kind}
        for kind in ("normal", "uniform", "pareto", "paretonormal")
    ],
    "correlation": [
        {"delay": Seconds(0.001), "jitter": Seconds(0.001), "correlation": Fraction(share)}
        for share in (0.5, 1.0)
    ],
    "loss_model": [
        {"loss_model": LossModel(gemodel=Gemodel(Fraction(0.01)))},
        {"loss_model": LossModel(state=FourStates(Fraction(0.01)))},
    ],
    "duplicate": [{"duplicate": Fraction(1.0)}],
    "corrupt": [{"corrupt": Fraction(0.001)}],
    "reorder": [{"delay": Seconds(0.001), "reorder": Fraction(0.5)}],
    "gap": [{"delay": Seconds(0.001), "reorder": Fraction(0.5), "gap": 5}],
    "limit": [{"limit": 1}, {"limit": 2**31}],
    "overhead": [{"rate": Rate(1e6), "overhead": 40}],
}
"""For each key of a side, values with the keys that they need."""
