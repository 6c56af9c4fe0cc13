"""Table of a tuning: a row for each trial, pruned setting, decision and baseline, in order."""

import csv
import io
from pathlib import Path
from typing import Any

from ...runs.results import replacing
from .requests import Decision, Pruned, Trial, TrialResult
from .setting import Setting

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
