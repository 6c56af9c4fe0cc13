"""Rounds of logits: outputs that have gone to devices, whose gradients have not all come back."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from .crossing_checks import SentActivations
from .server_layers import ForwardPasses, LossAnswer


@dataclass(eq=False, slots=True)
class LogitRound:
    """Devices that passed forwards together, and their answers so far."""

    group: list[SentActivations]
    passes: ForwardPasses
    sizes: dict[str, int]
    """Bytes of the logits sent to each device, by name."""
    deadline: float
    """Time at which the devices without an answer are given up."""
    answers: dict[str, LossAnswer] = field(default_factory=dict)
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
        if begun := self._round.pop(node, None):
            begun.drop([node])
            if begun.group and begun.complete:
                begun.deadline = now

    def deadline(self) -> float | None:
        """Return the time at which to call `tick`; None if no round waits."""
        return min((begun.deadline for begun in self._round.values()), default=None)

    def tick(self, now: float) -> tuple[LogitRound, list[str]] | None:
        """Return a round that is due, and the devices that it has given up; forget the round."""
        for begun in self._round.values():
            if now >= begun.deadline:
                self._closed(begun)
                late = [sent.node for sent in begun.group if sent.node not in begun.answers]
                begun.drop(late)
                return begun, late
        return None

    def clear(self) -> None:
        """Forget all rounds: the run ends."""
        self._round.clear()

    def _closed(self, begun: LogitRound) -> LogitRound:
        for sent in begun.group:
            del self._round[sent.node]
        return begun
