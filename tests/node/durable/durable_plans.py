"""Plans of servers on a disk, which have every part of a server, and every codec, between them."""

from typing import Any

from emulator import aggregation, modulation, optimizers, pulls, synchronization
from emulator.codecs import Dense, TopK
from emulator.synchronization import ComputeGroups
from emulator.units import Fraction
from tests.fakes.codecs.codec_table import ROWS

_PARTS: dict[str, dict[str, Any]] = {
    "asynchronous": {},
    "adacomp": {"modulation": modulation.PerParameter()},
    "stale": {"modulation": modulation.Staleness(), "optimizer": optimizers.Adam()},
    "softsync": {
        "synchronization": synchronization.Softsync(2),
        "modulation": modulation.PerParameter(),
        "aggregation": aggregation.NormClip(),
    },
    "barrier": {
        "synchronization": synchronization.Barrier(Fraction(0.75)),
        "optimizer": optimizers.Momentum(),
        "aggregation": aggregation.Median(),
    },
    "signs": {
        "synchronization": synchronization.Barrier(),
        "optimizer": optimizers.Sign(),
        "aggregation": aggregation.Krum(1),
    },
    "liars": {
        "synchronization": synchronization.Barrier(),
        "aggregation": aggregation.MultiKrum(1),
    },
    "trimmed": {
        "synchronization": synchronization.Barrier(),
        "aggregation": aggregation.TrimmedMean(Fraction(0.25)),
    },
    "bounded": {"synchronization": synchronization.Bounded(1), "pull": pulls.Delta()},
    "fedavg": {"synchronization": synchronization.FedAvg(Fraction(0.5))},
    "local": {"synchronization": synchronization.LocalSGD(2), "pull": pulls.Delta("f16")},
    "groups": {
        "synchronization": ComputeGroups(2),
        "groups": (("a", "b"), ("c", "d")),
        "modulation": modulation.Staleness(),
    },
    "half": {"pull": pulls.WholeModel("f16"), "modulation": modulation.PerParameter()},
}
_CODECS = [
    TopK(keep=Fraction(0.02)),
    Dense(),
    *(row.codec for name, row in ROWS.items() if name == row.codec.kind),
]

PLANS = {
    name: {**parts, "codec": codec}
    for (name, parts), codec in zip(_PARTS.items(), _CODECS, strict=True)
}
"""Keyword arguments of `plan_of`, by a name of the plan: each plan has another codec."""
