"""Who used the cores, and how much memory is whose, as the kernel's books (/proc) have it."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")
_ENGINE = ("dockerd", "containerd", "docker-proxy")
_KTHREADD = 2
"""The kernel's own threads are this one's children."""


@dataclass(frozen=True)
class Books:
    """Seconds of CPU since the machine started."""

    spent: dict[str, float]
    """By who spent them."""
    busy: float
    """All cores together."""
    total: float

    def since(self, before: "Books") -> dict[str, float]:
        """Seconds spent since then."""
        spent = {who: used - before.spent.get(who, 0.0) for who, used in self.spent.items()}
        # what no process is charged with: interrupts, where the kernel keeps them apart
        rest = self.busy - before.busy - sum(spent.values())
        spent["kernel"] += max(0.0, rest)
        return spent


def read(nodes: Mapping[str, list[int]]) -> Books:
    """`nodes`: the process ids of each group of nodes; the rest is sorted by what it is."""
    group = {process: who for who, processes in nodes.items() for process in processes}
    group[os.getpid()] = "conductor"
    spent = dict.fromkeys([*nodes, "conductor", "engine", "kernel", "others"], 0.0)
    for process, name, parent, own, reaped in _processes():
        who = group.get(process) or _kind(name, process, parent)
        spent[who] += own
        spent["others"] += reaped
    user, nice, system, idle, waiting, hard, soft, steal = _cores()
    busy = user + nice + system + hard + soft + steal
    return Books(spent, busy, busy + idle + waiting)


def _kind(name: str, process: int, parent: int) -> str:
    if _KTHREADD in (process, parent):
        return "kernel"
    return "engine" if name.startswith(_ENGINE) else "others"


def _processes() -> Iterator[tuple[int, str, int, float, float]]:
    """The processes by id: name, parent, and seconds used, dead children included."""
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            try:
                before, _, after = (folder / "stat").read_text().rpartition(") ")
            except OSError:
                continue
            fields = after.split()
            own, reaped = (_TICK * sum(map(int, fields[at : at + 2])) for at in (11, 13))
            yield int(folder.name), before.partition("(")[2], int(fields[1]), own, reaped


def names() -> Iterator[tuple[int, str]]:
    """The processes by id and name."""
    for process, name, *_ in _processes():
        yield process, name


def children(process: int) -> list[int]:
    """The processes that it has started from any of its threads, and that still run."""
    tasks = PROC / str(process) / "task"
    try:
        lists = [(task / "children").read_text() for task in tasks.iterdir()]
    except OSError:
        return []
    return [int(word) for text in lists for word in text.split()]


def descendants(process: int) -> list[int]:
    """Its children, their children, and so on."""
    own = children(process)
    return [*own, *(process for child in own for process in descendants(child))]


def private(process: int) -> int | None:
    """Bytes that no other process shares; None where the kernel does not tell us."""
    try:
        lines = (PROC / str(process) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Private_"))


def available() -> float:
    """Bytes of memory that the host has for new processes."""
    lines = (PROC / "meminfo").read_text().splitlines()
    (kibibytes,) = (line.split()[1] for line in lines if line.startswith("MemAvailable"))
    return 1024.0 * int(kibibytes)


def _cores() -> list[float]:
    with (PROC / "stat").open() as file:
        return [int(word) * _TICK for word in file.readline().split()[1:9]]
