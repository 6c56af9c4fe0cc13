"""A calibration without a measurement, and all calibrations of the cache."""

from contextlib import suppress

from emulator.codecs import TopK
from emulator.costs.calibration import Calibration, record
from emulator.machine.cache import cache
from emulator.units import Fraction, Seconds
from emulator.world.laws import Fixed, LogNormal

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


def stored() -> list[Calibration]:
    """Return every calibration in the cache, of any host; damaged files are passed over."""
    result = []
    for file in sorted(cache("calibration").glob("*.json")):
        with suppress(OSError, ValueError):
            result.append(record._read(file, record.read))
    return result
