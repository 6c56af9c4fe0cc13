"""The judgement of a soak: growth of memory and of descriptors after the warm-up."""

from dataclasses import dataclass
from statistics import mean, median

from .processes import Sample
from .soaking import Soak

GROWTH = 0.05
"""Share by which the memory of a process may grow after the warm-up."""
WARM_UP = 300.0
"""Seconds after which a process has met every event; at most a third of the run."""
SPAN = 0.25
"""Share of the time after the warm-up that is its begin, and its end."""
LATE = 30.0
"""Seconds at the end of a run that may be without samples, on a host with much other work."""
CONNECTIONS = 2 * 25
"""Connections of the server: one of each node, and one that broke and is not noticed yet."""


@dataclass(frozen=True)
class Level:
    """A process at the begin and at the end of the time after the warm-up."""

    name: str
    begin: float
    """Mean bytes of memory."""
    end: float
    descriptors: tuple[float, float]
    """Median numbers of open descriptors, but for those of connections."""
    connections: int
    """Largest number of connections."""

    @property
    def growth(self) -> float:
        """Growth of memory, as a share of its begin."""
        return self.end / self.begin - 1

    @property
    def complaints(self) -> list[str]:
        """Sentences for each missed bound."""
        found = []
        if self.growth >= GROWTH:
            found.append(f"{self.name}: its memory grew by {self.growth:.1%}, not under 5 %")
        if self.descriptors[1] > self.descriptors[0]:
            found.append(
                f"{self.name}: {self.descriptors[1]:g} descriptors at the end, "
                f"{self.descriptors[0]:g} after the warm-up"
            )
        if self.connections > CONNECTIONS:
            found.append(f"{self.name}: {self.connections} connections, over {CONNECTIONS}")
        return found


def levels(soak: Soak) -> list[Level]:
    """Return the level of each process."""
    return [_level(name, samples) for name, samples in soak.samples.items()]


def warm_up(samples: list[Sample]) -> float:
    """Return the seconds of the warm-up."""
    return min(WARM_UP, samples[-1].at / 3)


def _level(name: str, samples: list[Sample]) -> Level:
    warm, last = warm_up(samples), samples[-1].at
    span = SPAN * (last - warm)
    begin = [sample for sample in samples if warm <= sample.at < warm + span]
    end = [sample for sample in samples if sample.at > last - span]
    memory = (mean(sample.memory for sample in part) for part in (begin, end))
    first, then = (median(sample.descriptors for sample in part) for part in (begin, end))
    return Level(name, *memory, (first, then), max(sample.connections for sample in samples))


def complaints(soak: Soak) -> list[str]:
    """Return a sentence for each missed bound."""
    missed = [each for level in levels(soak) for each in level.complaints]
    if soak.summary["outcome"] != "success":
        missed.append(f"the run ended as {soak.summary['outcome']}")
    last = min(samples[-1].at for samples in soak.samples.values())
    if last < soak.summary["duration_s"] - LATE:
        missed.append(f"the last sample is of {last:.0f} s, too early")
    missed += [f"{each['node']} ended unasked: {each['reason']}" for each in soak.summary["exits"]]
    return missed + [f"left behind: {each}" for each in soak.remains]


def table(soak: Soak) -> str:
    """Return the levels for people: server and conductor, and the supervisor that grew most."""
    found = levels(soak)
    supervisors = [level for level in found if level.name.startswith("supervisor")]
    most = max(supervisors, key=lambda level: level.growth)
    rows = [f"{'':<28}{'MB begin':>10}{'MB end':>10}{'growth':>9}{'descriptors':>16}"]
    for level in [*(level for level in found if level not in supervisors), most]:
        rows.append(
            f"{level.name:<28}{level.begin / 1e6:>10.2f}{level.end / 1e6:>10.2f}"
            f"{level.growth:>9.2%}{level.descriptors[0]:>8g} then {level.descriptors[1]:g}"
        )
    grown = sorted(level.growth for level in supervisors)
    facts = soak.summary
    return "\n".join(
        [
            *rows,
            f"{len(supervisors)} supervisors: growth from {grown[0]:.2%} to {grown[-1]:.2%}, "
            f"{grown[len(grown) // 2]:.2%} in the median",
            f"{facts['updates']} updates and {facts['faults_realised']} faults in "
            f"{facts['duration_s']:.0f} s; {len(soak.remains)} things left behind",
        ]
    )
