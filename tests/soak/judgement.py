"""The judgement of a soak: growth of memory and of descriptors after the warm-up."""

from dataclasses import dataclass
from statistics import mean

from .processes import Sample
from .soaking import Soak

GROWTH, SHORT_GROWTH = 0.05, 0.1
"""Shares by which the memory of a process may grow after the warm-up, and after a shorter one."""
WARM_UP = 300.0
"""Seconds after which a process has met every event; at most a third of the run."""
SPAN = 0.25
"""Share of the time after the warm-up that is its begin, and its end."""
SETTLING = 15.0
"""Seconds after which a process that was started anew counts."""
DISK, DISK_ROOM = 2.0, 10_000_000
"""Ratio of the most states and inputs at the end to those at the begin, and bytes beside."""
LATE = 30.0
"""Seconds at the end of a run that may be without samples, on a host with much other work."""
CONNECTIONS = 2 * 25
"""Connections of the server: one of each node, and one that broke and is not noticed yet."""
POOLED = 32
"""Connections to the engine that the conductor keeps, beside the output of each container."""


@dataclass(frozen=True)
class Level:
    """A process at the begin and at the end of the time after the warm-up."""

    name: str
    begin: float
    """Mean bytes of memory."""
    end: float
    descriptors: tuple[float, float]
    """Lower quartiles of the numbers of open descriptors, but for those of connections: a fault of
    memory takes one for a while."""
    connections: int
    """Largest number of connections."""
    bound: float = GROWTH
    """Share by which the memory may grow."""

    @property
    def growth(self) -> float:
        """Growth of memory, as a share of its begin."""
        return self.end / self.begin - 1

    @property
    def complaints(self) -> list[str]:
        """Sentences for each missed bound."""
        found = []
        if self.growth >= self.bound:
            words = f"its memory grew by {self.growth:.1%}, not under {100 * self.bound:g} %"
            found.append(f"{self.name}: {words}")
        if self.descriptors[1] > self.descriptors[0]:
            found.append(
                f"{self.name}: {self.descriptors[1]:g} descriptors at the end, "
                f"{self.descriptors[0]:g} after the warm-up"
            )
        most = CONNECTIONS + POOLED if self.name == "conductor" else CONNECTIONS
        if self.connections > most:
            found.append(f"{self.name}: {self.connections} connections, over {most}")
        return found


def levels(soak: Soak) -> list[Level]:
    """Return the level of each process."""
    return [_level(name, samples) for name, samples in soak.samples.items()]


def warm_up(samples: list[Sample]) -> float:
    """Return the seconds of the warm-up."""
    return min(WARM_UP, samples[-1].at / 3)


def settled(samples: list[Sample]) -> list[Sample]:
    """Return the `samples` of the first process, and of later ones after they have settled."""
    began: dict[int, float] = {samples[0].process: -SETTLING}
    for sample in samples:
        began.setdefault(sample.process, sample.at)
    return [sample for sample in samples if sample.at >= began[sample.process] + SETTLING]


def _level(name: str, samples: list[Sample]) -> Level:
    samples = settled(samples)
    warm, last = warm_up(samples), samples[-1].at
    span = SPAN * (last - warm)
    begin = [sample for sample in samples if warm <= sample.at < warm + span]
    end = [sample for sample in samples if sample.at > last - span]
    first, then = (mean(sample.memory for sample in part) for part in (begin, end))
    descriptors = _lower_quartile(begin), _lower_quartile(end)
    connections = max(sample.connections for sample in samples)
    bound = GROWTH if warm >= WARM_UP else SHORT_GROWTH
    return Level(name, first, then, descriptors, connections, bound)


def _lower_quartile(samples: list[Sample]) -> float:
    return sorted(sample.descriptors for sample in samples)[len(samples) // 4]


def complaints(soak: Soak) -> list[str]:
    """Return a sentence for each missed bound."""
    missed = [each for level in levels(soak) for each in level.complaints]
    if soak.summary["outcome"] != "success":
        missed.append(f"the run ended as {soak.summary['outcome']}")
    last = min(samples[-1].at for samples in soak.samples.values())
    if last < soak.summary["duration_s"] - LATE:
        missed.append(f"the last sample is of {last:.0f} s, too early")
    missed += [f"no fault of the kind {kind} was played" for kind in sorted(_unplayed(soak))]
    if grown := _grown(soak.disk):
        missed.append(f"the server's states and inputs grew from {grown[0]} to {grown[1]} bytes")
    missed += [f"{each['node']} ended unasked: {each['reason']}" for each in soak.summary["exits"]]
    return missed + [f"left behind: {each}" for each in soak.remains]


def _unplayed(soak: Soak) -> set[str]:
    """Return the kinds of the scenario's faults without a begin in the run, or without effect."""
    played = set(soak.summary["fault_effects"]["kinds"])
    if soak.summary.get("server_recoveries"):
        played.add("server-crash")
    return soak.kinds - played


def _grown(disk: list[tuple[float, int]]) -> tuple[int, int] | None:
    """Return the most bytes in the first and in the last quarter of `disk`, if they grew."""
    if not disk:
        return None
    quarter = max(1, len(disk) // 4)
    begin, end = (max(size for _, size in part) for part in (disk[:quarter], disk[-quarter:]))
    return (begin, end) if end > DISK * begin + DISK_ROOM else None


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
            f"{facts['duration_s']:.0f} s, {facts.get('server_recoveries', 0)} recoveries of the "
            f"server; states and inputs took {max((size for _, size in soak.disk), default=0)} "
            f"bytes at most; {len(soak.remains)} things left behind",
        ]
    )
