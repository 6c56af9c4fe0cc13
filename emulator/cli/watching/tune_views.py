"""Views of a tuning: a line for each trial and decision, above a panel on a terminal."""

from .sweep_views import LiveSweepView, PlainSweepView


class PlainTuneView(PlainSweepView):
    """Prints a line for each trial and decision, and one on the progress now and then."""

    def line(self, text: str) -> None:
        """Print `text`."""
        self._say(text)

    def __enter__(self) -> "PlainTuneView":
        return self


class LiveTuneView(LiveSweepView):
    """A panel of the trials in play, with lines on finished trials and decisions above."""

    def line(self, text: str) -> None:
        """Print `text` above the panel."""
        self._console.print(text, highlight=False, markup=False)

    def __enter__(self) -> "LiveTuneView":
        super().__enter__()
        return self
