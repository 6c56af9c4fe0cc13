"""Iterations in containers, by schedule: how long they take, and how long they were to take."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import emulator
from analysis.papers import markdown
from analysis.papers.claims import Judged
from analysis.papers.declaration import Claim
from analysis.papers.host_measurements import judge_values
from emulator.log.lines import read
from emulator.log.records import PullRecord, Record
from emulator.log.records.plan_records import IterationRecord
from emulator.runs.folder import RUNS
from emulator.world.roles import EVALUATOR
from tests.layers import ROOT

SCENARIO = ROOT / "scenarios" / "figures" / "dynacomm-containers.yaml"
SCHEDULES = (
    "sequential",
    "layer-by-layer",
    "{kind: ibatch, replan: 20}",
    "{kind: dynacomm, replan: 20}",
)
NETS = {"mnist-cnn": 256, "mnist-vgg": 128}
"""Batch size of each net: transfer and computing take about equally long."""
SETUPS = ("0ms", "10ms")
LEARNING = 50
"""First iterations of a device that do not count: every schedule is planned anew from
measurements by then."""

SOONEST = Claim(
    "no other schedule ends an iteration more than 2 % sooner than dynacomm",
    rule="all-at-least",
    where="abstract",
    bound=0.98,
)
AS_PLANNED = Claim("iterations take what was planned, within 5 %", rule="all-within", bound=0.05)

PROTOCOL = (
    "two devices without a CPU quota on links of 200 mbit, each side with a set-up of 10 ms or "
    "without, train with a barrier",
    "an iteration is the median time from a pull to the next one as the server sees them, after "
    f"{LEARNING} iterations of learning",
    "speed-up is that of dynacomm over sequential",
    "*as planned* is the median of realised / predicted − 1 over the plans of dynacomm",
    f"base scenario `{SCENARIO.name}`",
)

Figures = list[dict[str, Any]]


@dataclass(frozen=True)
class Iterations:
    """What the log of a run says of its iterations."""

    seconds: float
    """Median time from a pull to the device's next pull, as the server saw them."""
    deviation: float | None
    """Median of (realised / predicted - 1) over the plans that count; None without plans."""
    cuts: str
    """Segments of the last plan of the first device: pull, then push."""


def measure(say: Callable[[str], None]) -> Figures:
    """Play every net, set-up and schedule; return a row for each, in that order."""
    rows: Figures = []
    for model, batch in NETS.items():
        for setup in SETUPS:
            for schedule in SCHEDULES:
                say(f"{model}, batch {batch}, set-up {setup}: {schedule}")
                found = _play(model, batch, setup, schedule)
                kind = schedule.removeprefix("{kind: ").partition(",")[0]
                rows.append({"model": model, "batch": batch, "setup": setup, "schedule": kind})
                rows[-1] |= vars(found)
    return rows


def _cases(rows: Figures) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the rows of `measure` by schedule, for each net and set-up in words."""
    cases: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        setup = int(row["setup"].removesuffix("ms"))
        words = f"set-up {setup} ms" if setup else "no set-up"
        case = cases.setdefault(f"`{row['model']}`, batch {row['batch']}, {words}", {})
        case[row["schedule"]] = row
    return cases


def claims(rows: Figures) -> list[Judged]:
    """Return the claims of the paper and of the plans, judged by the rows of `measure`."""
    sooner, apart = {}, {}
    for case, found in _cases(rows).items():
        own = found["dynacomm"]
        others = [row["seconds"] for kind, row in found.items() if kind != "dynacomm"]
        sooner[case] = min(others) / own["seconds"]
        apart[case] = own["deviation"]
    return [
        judge_values(SOONEST, sooner, lambda ratio: f"{ratio:.2f} × the best other"),
        judge_values(AS_PLANNED, apart, _signed),
    ]


def _signed(share: float) -> str:
    return f"{100 * share:+.1f} %".replace("-", "−")


def page_table(rows: Figures) -> str:
    """Return the table of docs/papers/cai-2021.md: a line for each net and set-up.

    `rows` are those of `measure`. Speed-up and the distance from the plans are those of `dynacomm`.
    """
    names = [schedule.removeprefix("{kind: ").partition(",")[0] for schedule in SCHEDULES]
    lines = []
    for case, found in _cases(rows).items():
        own, base = found["dynacomm"], found["sequential"]
        lines.append(
            [
                case,
                *(f"{1e3 * found[name]['seconds']:.0f} ms" for name in names),
                f"{base['seconds'] / own['seconds']:.2f}",
                _signed(own["deviation"]),
            ]
        )
    return markdown.table(["", *names, "speed-up", "as planned"], lines)


def _play(model: str, batch: int, setup: str, schedule: str) -> Iterations:
    sides = [f"devices[0].link.{side}.setup={setup}" for side in ("up", "down")]
    training = {"model": model, "batch_size": batch, "schedule": schedule}
    keys = [f"training.{key}={value}" for key, value in training.items()]
    scenario = emulator.load(SCENARIO, [*sides, *keys])
    played = emulator.run(scenario, runs=RUNS)
    return iterations(read(played.folder / "run.jsonl"))


def iterations(log: Iterable[Record]) -> Iterations:
    """Return the figures of a run's records."""
    pulls: defaultdict[str, list[float]] = defaultdict(list)
    outcomes: list[IterationRecord] = []
    for record in log:
        if isinstance(record, PullRecord) and record.node != EVALUATOR:
            pulls[record.node].append(record.at)
        elif isinstance(record, IterationRecord) and record.iteration > LEARNING:
            outcomes.append(record)
    times = [
        later - earlier for own in pulls.values() for earlier, later in pairwise(own[LEARNING:])
    ]
    shares = [record.t_iteration / record.predicted_iteration - 1 for record in outcomes]
    last = outcomes[-1] if outcomes else None
    return Iterations(
        seconds=median(times),
        deviation=median(shares) if shares else None,
        cuts=f"{_words(last.pull)}; {_words(last.push)}" if last else "",
    )


def _words(segments: Iterable[tuple[int, int]]) -> str:
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in segments)
