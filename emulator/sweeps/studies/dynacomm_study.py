"""Study `dynacomm`: four schedules of pulls and pushes, planned and played, and their losses."""

from .plans import BATCHES, MULTIPLY_ADDS, SCHEDULES, plans, step
from .entries import Entry, Study

_RATE = ("0.1",)
_DEVICES = (1, 2, 4, 8)

DYNACOMM = Study(
    name="dynacomm",
    about="pulls and pushes in segments of layers: four schedules, four networks",
    scenario="figures/dynacomm-networks.yaml",
    entries=(
        *(
            Entry(
                f"{network}, batch {batch}",
                schedule,
                (
                    f"training.model={{layers: {network}}}",
                    f"training.batch_size={batch}",
                    f"virtual.step={step(network, batch):.6g}s",
                    f"training.schedule={schedule}",
                ),
                _RATE,
            )
            for network in MULTIPLY_ADDS
            for batch in BATCHES
            for schedule in SCHEDULES
        ),
        *(
            Entry(
                f"devices: {count}",
                schedule,
                (
                    f"devices[0].count={count}",
                    f"stop.updates={20 * count}",
                    f"training.schedule={schedule}",
                ),
                _RATE,
                scenario="figures/dynacomm-devices.yaml",
            )
            for count in _DEVICES
            for schedule in SCHEDULES
        ),
        *(
            Entry(
                "losses",
                schedule,
                (f"training.schedule={schedule}",),
                _RATE,
                scenario="figures/dynacomm-losses.yaml",
            )
            for schedule in SCHEDULES
        ),
    ),
    seeds=1,
    plans=plans,
)
