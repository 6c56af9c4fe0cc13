"""Replays: the faults that another run realised, as the timeline of a run.

The timeline has a line for each fault that began or ended in the other run's log, at the time at
which it did; faults that devices drew by themselves are dated like the others. In the replaying run
devices draw none.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from ..errors import (
    EmulatorError,
    first_of,
)
from ..log.lines import read
from ..log.records import Record
from ..log.records.fault_records import FaultRecord
from ..log.records.record_fields import kind
from ..scenario import Scenario, Timed
from ..scenario.sections.server_section import NONE
from ..scenario.timeline.compiled import horizon, server_back, verbs_of_faults
from ..scenario.timeline.link_changes import changed_network_links, reshaped_links
from ..units import Fraction
from ..world import verbs
from ..world.faults import Scheduled
from ..world.links import reshaping
from ..world.roles import SERVER
from ..world.verbs import Action

F = TypeVar("F", bound=Scheduled)

HALT = "halt"
"""The verb of a crash that keeps the state, which a container stores only if it has to."""

_NAMED = 5
"""Largest number of unknown devices that an error names."""


@dataclass(frozen=True)
class Replay:
    """The realised faults of a run."""

    run: str
    """Scenario and folder of the run, as `flaky-homes/20261123T050000Z-1a2b3c`."""
    timeline: tuple[Timed, ...]

    def schedule(self, scenario: Scenario) -> tuple[Timed, ...]:
        """Return the timeline for `scenario`, at the end of which the server is up."""
        return tuple(server_back(self.timeline, horizon(scenario)))

    def facts(self) -> dict[str, Any]:
        """Return the manifest's entry."""
        return {"replay": {"run": self.run, "actions": len(self.timeline)}}

    def of(self, scenario: Scenario) -> Scenario:
        """Return `scenario` for the replay: no device draws a fault by itself.

        Each `per_iteration` becomes 0 %, and batteries are left out. Raises EmulatorError if the
        timeline strikes a device that `scenario` does not have, or a server that keeps nothing.
        """
        self._check(scenario)
        groups = tuple(
            group.model_copy(
                update={
                    "failures": tuple(
                        profile.model_copy(update={"faults": faults})
                        for profile in group.failures
                        if (faults := _undrawn(profile.faults))
                    )
                }
            )
            for group in scenario.devices
        )
        fields = {name: getattr(scenario, name) for name in Scenario.model_fields}
        changed = {"devices": groups, "faults": _undrawn(scenario.faults)}
        # a copy would keep the cached devices of `scenario`, which draw their faults
        return Scenario.model_construct(**{**fields, **changed})

    def _check(self, scenario: Scenario) -> None:
        self._check_nodes(scenario)
        # a run prepares for such verbs by its scenario: without a liar in it, nobody would lie
        prepared = verbs_of_faults(scenario)
        changing = {*reshaped_links(scenario), *changed_network_links(scenario)}
        of_device = {reshaping.VERB: changing, HALT: scenario.keepers}
        for timed in self.timeline:
            action = timed.action
            if not action.begins:
                continue
            if verbs.row(action.verb).tunable and action.verb not in prepared:
                raise self._unprepared(scenario, action, "")
            if action.node not in of_device.get(action.verb, (action.node,)):
                raise self._unprepared(scenario, action, f" on {action.node}")

    def _unprepared(self, scenario: Scenario, action: Action, where: str) -> EmulatorError:
        kept = " and `keeps: state`" if action.verb == HALT else ""
        return EmulatorError(
            f"the faults of {self.run} cannot be replayed: one is {action.fault!r}{kept}{where}, "
            f"for which {scenario.name} is not prepared: give it a fault of that kind{kept}"
            f"{where}, at any time"
        )

    def _check_nodes(self, scenario: Scenario) -> None:
        known = {SERVER, *(device.name for device in scenario.nodes), *scenario.behind_links}
        struck = dict.fromkeys(timed.action.node for timed in self.timeline)
        if SERVER in struck and scenario.server.durability == NONE:
            raise EmulatorError(
                f"the faults of {self.run} cannot be replayed: the server crashes, and all updates "
                "would be lost: write server.durability: update"
            )
        unknown = [repr(name) for name in struck if name not in known]
        if unknown:
            raise EmulatorError(
                f"the faults of {self.run} cannot be replayed: they strike "
                f"{first_of(unknown, _NAMED)}, and {scenario.name} has no such device: "
                "give the run of a scenario with the same devices"
            )


def read_replay(folder: Path) -> Replay:
    """Return the faults that the run in `folder` realised.

    Raises EmulatorError if its log is missing or damaged.
    """
    try:
        timeline = tuple(realised(read(folder / "run.jsonl")))
    except OSError as error:
        raise EmulatorError(f"{folder / 'run.jsonl'} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise EmulatorError(str(error)) from error
    return Replay(f"{folder.parent.name}/{folder.name}", timeline)


def realised(records: Iterable[Record]) -> list[Timed]:
    """Return the faults that began and ended in `records`, in the order of their times."""
    found = [
        Timed(max(0.0, record.at), action)
        for record in records
        if isinstance(record, FaultRecord)
        and not record.again
        and (action := _action(record)) is not None
    ]
    return sorted(found, key=lambda timed: timed.at)


def _action(record: FaultRecord) -> Action | None:
    """Return the action behind `record`; None if no verb of the table has records of this kind."""
    row = verbs.row_of_record(kind(type(record)))
    if row is None:
        return None
    verb = row.name if record.begins else row.undone_by
    setting = None if record.setting is None else dict(record.setting)
    return Action(verb, record.node, record.fault, setting)


def _undrawn(faults: tuple[F, ...]) -> tuple[F, ...]:
    return tuple(
        fault if fault.per_iteration is None else replace(fault, per_iteration=Fraction(0))
        for fault in faults
        if not fault.by_itself
    )
