"""Shows on standard error how many bytes of an image were sent."""

import sys
import time

import click

from .progress import amount

_EVERY = 5.0
"""Seconds between two lines where no terminal shows them."""


class SentBytes:
    """A line that grows on a terminal, and elsewhere a line now and then."""

    def __init__(self, to: str) -> None:
        """`to` names the receiver in words."""
        self._to, self._shown = to, time.monotonic()
        self._terminal, self._sent = sys.stderr.isatty(), 0

    def __call__(self, sent: int) -> None:
        """Show that `sent` bytes were sent so far."""
        now = time.monotonic()
        if now - self._shown >= (0.2 if self._terminal else _EVERY):
            self._shown, self._sent = now, sent
            line = f"images: {amount(sent)} sent to {self._to}"
            click.echo(f"\r{line} " if self._terminal else line, err=True, nl=not self._terminal)

    def __enter__(self) -> "SentBytes":
        return self

    def __exit__(self, *about: object) -> None:
        """End the line of a terminal."""
        if self._terminal and self._sent:
            click.echo(err=True)
