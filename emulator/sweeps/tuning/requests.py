"""Requests of the tuner's algorithm to the program that plays probes, and the results it gets."""

from dataclasses import dataclass

from .setting import Setting


@dataclass(frozen=True)
class Trial:
    """A training to play for a while, from a checkpoint or from the initial weights."""

    phase: str
    """Part of the algorithm, for example `cold` or `steady 1`; unique with kind and setting."""
    kind: str
    """`probe`, `final` (the longer run of a chosen setting at the cold start) or `epoch`."""
    setting: Setting
    length: float
    """Duration, in probes of the cold start."""
    start: str | None = None
    """Label of the trial whose model this one begins with; None: the initial weights."""

    @property
    def label(self) -> str:
        return f"{self.phase} {self.kind} {self.setting}"


@dataclass(frozen=True)
class TrialGrid:
    """Trials of one grid in ascending order, of which those above a divergence are not played."""

    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class Decision:
    """A choice of the algorithm, with its reason."""

    phase: str
    text: str
    setting: Setting | None = None
    trial: str | None = None
    """Label of the trial that was chosen, if a trial was."""


@dataclass(frozen=True)
class Pruned:
    """A setting that is not probed, with the reason."""

    phase: str
    setting: Setting
    why: str


@dataclass(frozen=True)
class TrialResult:
    """The results of a trial that was played."""

    loss: float | None
    """Mean of the last ten displayed losses; None if the training diverged or was too short."""
    seconds: float
    """Emulated duration."""
    updates: int
    """Group updates."""
    update_seconds: float
    """Emulated seconds from one group update to the next, on average."""
    half_loss: float | None
    """Mean of all losses in the second half of the time; None if the trial has no score."""
    short: bool = False
    """Whether the trial ended before a loss was displayed, and did not diverge."""

    @property
    def failure(self) -> str:
        """Reason for which the trial has no loss, in words; "" if it has."""
        if self.loss is not None:
            return ""
        return "too short to display a loss" if self.short else "diverged"
