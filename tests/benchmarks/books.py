"""Who used the cores, and how much memory is whose, as the kernel's books (/proc) have it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")
_ENGINE = ("dockerd", "containerd", "docker-proxy")


@dataclass(frozen=True)
class Books:
    """Seconds of CPU since the machine started, by who used them, and over all cores."""

    spent: dict[str, float]
    busy: float
    total: float

    def since(self, before: "Books") -> dict[str, float]:
        """Seconds used since then; `others` is what nobody named here has used."""
        spent = {who: used - before.spent.get(who, 0.0) for who, used in self.spent.items()}
        rest = self.busy - before.busy - sum(spent.values())
        return {**spent, "others": max(0.0, rest)}


def read(nodes: Mapping[str, list[int]]) -> Books:
    """`nodes`: the process ids of each group of nodes."""
    spent = {who: sum(map(_used, ids)) for who, ids in nodes.items()}
    user, nice, system, idle, waiting, hard, soft, steal = _cores()
    kernel = hard + soft
    engine = 0.0
    for folder in PROC.iterdir():
        if folder.name.isdigit() and (name := _name(folder)):
            if name.startswith(_ENGINE):
                engine += _used(int(folder.name))
            elif name.startswith("kworker"):
                kernel += _used(int(folder.name))
    busy = user + nice + system + hard + soft + steal
    own = {"conductor": _used(os.getpid()), "engine": engine, "kernel": kernel}
    return Books({**spent, **own}, busy, busy + idle + waiting)


def children(process: int) -> list[int]:
    try:
        text = (PROC / str(process) / "task" / str(process) / "children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def private(process: int) -> int | None:
    """Bytes that no other process shares; None where the kernel does not tell us."""
    try:
        lines = (PROC / str(process) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Private_"))


def _used(process: int) -> float:
    try:
        fields = (PROC / str(process) / "stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) * _TICK


def _name(folder: Path) -> str:
    try:
        return (folder / "comm").read_text()
    except OSError:
        return ""


def _cores() -> list[float]:
    with (PROC / "stat").open() as file:
        return [int(word) * _TICK for word in file.readline().split()[1:9]]
