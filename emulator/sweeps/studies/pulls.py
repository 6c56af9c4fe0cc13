"""Study `pulls`: whole models or deltas, downlink bytes of 20 homes until 97 % test accuracy."""

from .entries import Entry, Study

_PULLS = {
    "dense, f32": "{kind: dense, values: f32}",
    "dense, f16": "{kind: dense, values: f16}",
    "delta, f32": "{kind: delta, values: f32}",
    "delta, f16": "{kind: delta, values: f16}",
}

PULLS = Study(
    name="pulls",
    about="dense pulls against delta pulls, 20 homes",
    scenario="pulls.yaml",
    entries=tuple(
        Entry("20 homes", name, (f"training.pull={pull}",), ("0.1",))
        for name, pull in _PULLS.items()
    ),
)
