"""Study `byzantine`: aggregations of a step's gradients while 4 of 20 devices flip signs.

Blanchard et al. (2017) and Yin et al. (2018).
"""

from .entries import Entry, Study

_AGGREGATIONS = {
    "mean": "mean",
    "norm-clip": "norm-clip",
    "median": "median",
    "trimmed-mean": "{kind: trimmed-mean, trim: 20%}",
    "krum": "{kind: krum, liars: 4}",
    "multi-krum": "{kind: multi-krum, liars: 4}",
}
_RATE = "0.03"


def _entry(world: str, name: str, aggregation: str, *sets: str, seeds: int | None = None) -> Entry:
    return Entry(
        world,
        name,
        (f"training.aggregation={_AGGREGATIONS[aggregation]}", *sets),
        (_RATE,),
        seeds=seeds,
    )


BYZANTINE = Study(
    name="byzantine",
    about="aggregations of gradients while 4 of 20 devices flip signs",
    scenario="byzantine.yaml",
    entries=(
        *(_entry("4 liars", name, name) for name in _AGGREGATIONS),
        # an honest fleet differs less from seed to seed
        *(_entry("no liars", name, name, "faults=[]", seeds=1) for name in _AGGREGATIONS),
        _entry("4 liars", "mean, by: 1", "mean", "faults[0].by=1", seeds=1),
    ),
)
