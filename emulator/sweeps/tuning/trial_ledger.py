"""Ledger of a tuning: the trials played so far, their costs, and the lines and rows about them.

The table has a row for each trial, pruned setting, decision and baseline, in order.
"""

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ...errors import EmulatorError
from ...runs.results import read_json, replacing
from ..point import Finished
from .grids import Setting
from .search import Decision, Pruned, Trial, TrialResult

_COLUMNS = (
    *("what", "phase", "groups", "learning_rate", "momentum", "loss", "half_loss", "seconds"),
    *("updates", "update_seconds", "begins", "text"),
)


class TuningTable:
    """Rows of the table, written to a CSV file after each new row."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[dict[str, Any]] = []
        self._seconds = 0.0

    def trial(
        self, trial: Trial, result: TrialResult, displayed: list[tuple[float, float | None]]
    ) -> None:
        """Add a trial with its `displayed` losses, pairs of time and loss."""
        self._add(
            trial.kind,
            trial.phase,
            trial.setting,
            loss=result.loss,
            half_loss=result.half_loss,
            seconds=result.seconds,
            updates=result.updates,
            update_seconds=result.update_seconds,
            begins=self._seconds,
            text=result.failure,
            displayed=displayed,
            label=trial.label,
        )
        self._seconds += result.seconds

    def decision(self, decision: Decision) -> None:
        """Add `decision`, and mark the chosen trial."""
        for row in self._rows:
            if decision.trial is not None and row.get("label") == decision.trial:
                row["text"] = "chosen"
        self._add("decision", decision.phase, decision.setting, text=decision.text)

    def pruned(self, pruned: Pruned) -> None:
        """Add a setting that was not probed."""
        self._add("pruned", pruned.phase, pruned.setting, text=pruned.why)

    def baseline(self, row: dict[str, Any]) -> None:
        """Add the best run of a baseline."""
        setting = Setting(**row["setting"]) if row["setting"] else None
        text = f"{row['runs']} runs, {row['cost_seconds']:.4g} s in all"
        self._add("baseline", row["name"], setting, seconds=row["seconds"], text=text)

    def reasons(self, setting: Setting) -> list[str]:
        """Return the decisions that chose `setting`, as text."""
        return [
            f"{row['phase']}: {row['text']}"
            for row in self._rows
            if row["what"] == "decision"
            and (row["groups"], row["learning_rate"], row["momentum"]) == setting
        ]

    def plain(self) -> list[dict[str, Any]]:
        """Return the rows as JSON types."""
        return self._rows

    def _add(self, what: str, phase: str, setting: Setting | None, **values: Any) -> None:
        groups, rate, momentum = setting or (None, None, None)
        self._rows.append(
            {
                "what": what,
                "phase": phase,
                "groups": groups,
                "learning_rate": rate,
                "momentum": momentum,
                **values,
            }
        )
        self._write()

    def _write(self) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(self._rows)
        with replacing(self._path) as sink:
            sink.write(text.getvalue().encode())


class TuneView(Protocol):
    """Observer of a tuning."""

    def line(self, text: str) -> None:
        """Show a trial that has ended, or a decision."""


@dataclass
class TrialCosts:
    """Emulated cost of trials."""

    seconds: float = 0.0
    updates: int = 0
    """Group updates."""
    trials: int = 0

    def add(self, result: TrialResult) -> None:
        """Add a trial."""
        self.seconds += result.seconds
        self.updates += result.updates
        self.trials += 1


@dataclass
class TrialLedger:
    """Notes every trial and decision, in the table and for the observer."""

    table: TuningTable
    view: TuneView
    probes: TrialCosts = field(default_factory=TrialCosts)
    """Costs of probes and of the final runs of the cold start."""
    training: TrialCosts = field(default_factory=TrialCosts)
    """Costs of epochs."""
    _played: dict[str, Finished] = field(default_factory=dict)
    _age: dict[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Emulated seconds of all trials."""
        return self.probes.seconds + self.training.seconds

    @property
    def updates(self) -> int:
        """Group updates of all trials."""
        return self.probes.updates + self.training.updates

    def model(self, label: str) -> Path:
        """Return the file with the model at the end of the trial `label`."""
        return self._played[label].folder / "model.npz"

    def age(self, label: str | None) -> float:
        """Return the emulated seconds of training behind the model of the trial `label`."""
        return 0.0 if label is None else self._age[label]

    def trial(self, trial: Trial, finished: Finished) -> TrialResult:
        """Note a finished trial; return its result. Raises EmulatorError for a failed trial."""
        row = finished.row
        if row["stop"] == "failed":  # its devices are gone, say: not a fault of the setting
            raise EmulatorError(_failure(trial.label, finished.folder))
        seconds, updates = row["duration_s"], row["group_updates"]
        each = row["update_seconds"] or seconds / max(1, updates)
        # a run fails if a gradient is not finite, and if it ended before its first update
        loss = row["loss"] if row["outcome"] == "success" else None
        short = row["stop"] != "diverged" and not row["displayed"]
        half = row["half_loss"] if row["outcome"] == "success" else None
        result = TrialResult(loss, seconds, updates, each, half, short)
        (self.training if trial.kind == "epoch" else self.probes).add(result)
        self._played[trial.label] = finished
        self._age[trial.label] = seconds + self.age(trial.start)
        self.table.trial(trial, result, row["displayed"])
        words = result.failure if loss is None else f"loss {loss:.4f}"
        if half is not None:
            words += f", {half:.4f} over the second half,"
        self.view.line(f"{trial.label}: {words} after {updates} updates, {seconds:.4g} s")
        return result

    def decision(self, decision: Decision) -> None:
        """Note a decision."""
        self.table.decision(decision)
        self.view.line(f"{decision.phase}: {decision.text}")

    def pruned(self, pruned: Pruned) -> None:
        """Note a setting that is not probed."""
        self.table.pruned(pruned)

    def baseline(self, row: dict[str, Any], text: str) -> None:
        """Note the `row` of a baseline, with a line of `text`."""
        self.table.baseline(row)
        self.view.line(f"{row['name']}: {text}")


def _failure(label: str, folder: Path) -> str:
    """Return the error about the trial `label`, which failed in `folder`."""
    detail = read_json(folder / "summary.json")["detail"]
    return (
        f"{label} failed: {detail}: its loss cannot be compared. Shorten the trials, or take away "
        f"what ends them; to play this trial again, remove {folder}"
    )
