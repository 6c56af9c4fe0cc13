"""A view of a sweep that writes TensorBoard's events of each point that has finished."""

from typing import TYPE_CHECKING, Any

from ...errors import HostError
from ..read.export_run import events
from .tensorboard_view import IN_RUN

if TYPE_CHECKING:
    from ...sweeps import Finished, Standing


class SweepEvents:
    """Passes everything on to another view, and writes events into the folder of each point."""

    def __init__(self, view: Any) -> None:
        self._view = view

    def progress(self, text: str) -> None:
        self._view.progress(text)

    def standing(self, now: "Standing") -> None:
        self._view.standing(now)

    def finished(self, point: "Finished", now: "Standing") -> None:
        write_events(point)
        self._view.finished(point, now)


def write_events(point: "Finished") -> None:
    """Write the events of `point` into its folder, if they are not there. Raises HostError."""
    out = point.folder / IN_RUN
    if any(out.glob("events.*")):
        return
    try:
        events(point.folder, out)
    except OSError as error:
        raise HostError(f"cannot write {out}: {error.strerror or error}") from error
