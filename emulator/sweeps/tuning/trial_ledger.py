"""Ledger of a tuning: the trials played so far, their costs, and the lines and rows about them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ...errors import EmulatorError
from ...runs.results import read_json
from ..point import Finished
from .requests import Decision, Pruned, Trial, TrialResult
from .tuning_table import TuningTable


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
        half = None if loss is None else row["half_loss"]
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
