"""Plans of the devices' schedules, and the iterations that followed them, from the records."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from ..pictures.gantt import GanttRow, gantt_row
from ..reading.runs import Run, fact
from .devices import groups

PREDICTED, REALISED = "predicted", "realised"
"""Labels of the two rows of a device."""

_SEGMENTS = ("pull", "push")
_SPANS = ("pulled", "forward", "backward", "pushed")

Record = dict[Hashable, Any]


class PhaseTimes(NamedTuple):
    """Seconds of the forward phase, of the backward phase and of the whole iteration."""

    forward: float
    backward: float
    iteration: float

    @property
    def rest(self) -> float:
        """Seconds outside of both phases: the request, the server, the wait for other devices."""
        return self.iteration - self.forward - self.backward


@dataclass(frozen=True)
class DevicePlan:
    """A device's last plan with measured iterations, or else the device's first plan."""

    node: str
    group: str
    kind: str
    """Kind of the schedule, as `dynacomm`."""
    predicted: PhaseTimes
    plan: GanttRow
    realised: PhaseTimes | None
    """Medians of the iterations under the plan; None if no iteration was measured."""
    trace: GanttRow | None
    """The last of these iterations."""

    @property
    def deviation(self) -> float:
        """Difference of realised and predicted iteration, as a share of the predicted one."""
        if self.realised is None or not self.predicted.iteration > 0:
            return float("nan")
        return self.realised.iteration / self.predicted.iteration - 1


@fact
def device_plans(run: Run) -> list[DevicePlan]:
    """Return a plan for every device of `run` that made one, in the scenario's order."""
    group_of = groups(run)
    place = {name: number for number, name in enumerate(group_of)}
    plans, measured = _by_node(run, "plan"), _by_node(run, "iteration")
    return [
        _device_plan(own, measured.get(node, []), group_of.get(node, node))
        for node, own in sorted(plans.items(), key=lambda pair: place.get(pair[0], len(place)))
    ]


def _device_plan(plans: list[Record], measured: list[Record], group: str) -> DevicePlan:
    """Return the plan of a device with `plans` and `measured` iterations, both in their order."""
    plan, result = next(
        ((plan, result) for result in reversed(measured) if (plan := _plan_of(result, plans))),
        (plans[0], None),
    )
    realised = trace = None
    if result is not None:
        realised = PhaseTimes(*(float(result[f"t_{name}"]) for name in PhaseTimes._fields))
        trace = _row(REALISED, result)
    predicted = PhaseTimes(*(float(plan[f"t_{name}"]) for name in PhaseTimes._fields))
    node, kind = str(plan["node"]), str(plan["kind"])
    return DevicePlan(node, group, kind, predicted, _row(PREDICTED, plan), realised, trace)


def _plan_of(result: Record, plans: list[Record]) -> Record | None:
    """Return the plan that the iterations of `result` followed; None if the log lacks the plan.

    The next plan is often on record before the result. A device that boots counts its iterations
    anew, so the latest plan that fits is the right one.
    """
    for plan in reversed(plans):
        before = plan["at"] <= result["at"] and plan["iteration"] <= result["iteration"]
        if before and all(plan[key] == result[key] for key in _SEGMENTS):
            return plan
    return None


def _row(label: str, record: Record) -> GanttRow:
    return gantt_row(label, **{str(key): record[key] for key in (*_SEGMENTS, *_SPANS)})


def _by_node(run: Run, what: str) -> dict[str, list[Record]]:
    """Return the complete records of a kind by device, in their order."""
    table: pd.DataFrame = run.records(what)
    needed = ["node", "iteration", "t_forward", "t_backward", "t_iteration", *_SEGMENTS, *_SPANS]
    by_node: dict[str, list[Record]] = {}
    for record in table.dropna(subset=needed).to_dict("records"):
        by_node.setdefault(str(record["node"]), []).append(record)
    return by_node
