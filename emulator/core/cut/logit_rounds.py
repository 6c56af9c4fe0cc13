"""Rounds of logits: the server has sent outputs to devices, and awaits gradients by the outputs."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ...plugins.stateful import Held
from .activation_values import SentActivations
from .server_layers import ForwardPasses, LossAnswer


class LogitRound(Held, msgspec.Struct, eq=False):
    """Devices of a joint forward pass, and the answers to their logits."""

    group: list[SentActivations]
    passes: ForwardPasses
    sizes: dict[str, int]
    """Bytes of the logits sent to each device, by name."""
    deadline: float
    """Time at which the devices without an answer are given up."""
    answers: dict[str, LossAnswer] = msgspec.field(default_factory=dict)
    """Answers of devices, by name."""

    @property
    def complete(self) -> bool:
        """Whether no answer is missing."""
        return len(self.answers) == len(self.group)

    def drop(self, nodes: Sequence[str]) -> None:
        """Go on without `nodes`."""
        self.group = [sent for sent in self.group if sent.node not in nodes]
        for node in nodes:
            self.answers.pop(node, None)


class LogitRounds:
    """The rounds of all devices; a device is in one at most."""

    def __init__(self, patience: float) -> None:
        """A device has `patience` seconds to answer its logits."""
        self._patience = patience
        self._round: dict[str, LogitRound] = {}  # by device
        # The earliest deadline first: a new round's is later than all others. So every method but
        # a rare `withdraw` takes O(devices of a round), however many rounds there are.
        self._due: dict[LogitRound, None] = {}

    def state(self) -> dict[str, Any]:
        """Return the rounds in the order of their deadlines, as `Stateful.state`."""
        return {"due": list(self._due)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`."""
        self._due = dict.fromkeys(state["due"])
        self._round = {sent.node: begun for begun in self._due for sent in begun.group}

    def begin(
        self,
        group: Sequence[SentActivations],
        passes: ForwardPasses,
        sizes: dict[str, int],
        now: float,
    ) -> None:
        """Expect an answer of each device of `group`, which was sent logits of `sizes` bytes."""
        begun = LogitRound([*group], passes, sizes, now + self._patience)
        self._round |= dict.fromkeys((sent.node for sent in group), begun)
        self._due[begun] = None

    def sent(self, node: str) -> SentActivations:
        """Return the activations of `node`, which has been sent logits."""
        return next(sent for sent in self._round[node].group if sent.node == node)

    def answer(self, node: str, answer: LossAnswer) -> LogitRound | None:
        """Take the answer of `node`; return the round if it was the last, and forget the round."""
        begun = self._round[node]
        begun.answers[node] = answer
        return self._closed(begun) if begun.complete else None

    def withdraw(self, node: str, now: float) -> None:
        """Forget `node`; a round that waited for `node` alone is due `now`."""
        begun = self._round.pop(node, None)
        if begun is None:
            return
        begun.drop([node])
        if not begun.group:
            del self._due[begun]
        elif begun.complete:
            begun.deadline = now
            self._due = {begun: None} | self._due

    def deadline(self) -> float | None:
        """Return the time at which to call `tick`; None if no round waits."""
        begun = next(iter(self._due), None)
        return begun.deadline if begun else None

    def tick(self, now: float) -> tuple[LogitRound, list[str]] | None:
        """Return a round that is due, and the devices given up; forget the round."""
        begun = next(iter(self._due), None)
        if begun is None or now < begun.deadline:
            return None
        self._closed(begun)
        late = [sent.node for sent in begun.group if sent.node not in begun.answers]
        begun.drop(late)
        return begun, late

    def clear(self) -> None:
        """Forget all rounds: the run ends."""
        self._round.clear()
        self._due.clear()

    def _closed(self, begun: LogitRound) -> LogitRound:
        del self._due[begun]
        for sent in begun.group:
            del self._round[sent.node]
        return begun
