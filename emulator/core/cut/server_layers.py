"""The layers of a cut model that the server holds: passes through them, and their steps.

The step along the mean of a group's gradients is made in the same moment in which the passes were
computed, so no gradient is stale. Only where labels stay on devices other steps may come between a
forward pass and its step.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ...learning.learners.base import ServerPart, Slopes
from ...plugins.stateful import Held
from ...vectors import Gradient, Vector
from ..server.parameters import State
from ..wire.messages import ActivationGradient, Logits
from .activation_values import ActivationCoding, SentActivations, encode_f32


class LossAnswer(Held, msgspec.Struct, frozen=True, eq=False):
    """A device's answer to its logits, checked."""

    loss: float
    """Mean loss of an answer over the device's mini-batch."""
    gradient: Vector
    """Gradient of the mean loss by the logits."""
    size: int
    """Bytes of the message on the wire."""


class ForwardPasses(Held, msgspec.Struct, frozen=True, eq=False):
    """Forward passes of activations without labels."""

    theta: Vector
    """Parameters with which the passes were computed."""
    version: int
    """Version of these parameters."""


class PassResult(NamedTuple):
    """A device's pass through the server's layers, forwards and backwards."""

    sent: SentActivations
    answer: ActivationGradient
    version: int
    """Version of the server's layers after the step."""
    staleness: int
    """Updates of the server's layers between the forward pass and the step."""


class ServerLayers:
    """Computes passes with the parameters of the server's layers, and moves the parameters."""

    def __init__(self, parameters: State, part: ServerPart, coding: ActivationCoding) -> None:
        self.parameters = parameters
        self._part, self._coding = part, coding

    def train(self, group: Sequence[SentActivations]) -> list[PassResult]:
        """Compute the passes of a `group` with labels, and make a step along their mean."""
        theta, version = self.parameters.theta, self.parameters.version
        slopes = []
        for sent in group:
            assert sent.labels is not None  # checked on arrival
            slopes.append(self._part.slopes(theta, sent.values, sent.rows, sent.labels))
        return self._step(group, slopes, version)

    def forward(self, group: Sequence[SentActivations]) -> tuple[ForwardPasses, list[Logits]]:
        """Compute the outputs for a `group` without labels, in the order of the `group`."""
        theta, version = self.parameters.snapshot(), self.parameters.version
        logits = [self._part.logits(theta, sent.values, sent.rows) for sent in group]
        frames = [encode_f32(values) for values in logits]
        answers = [Logits(s.ticket, frame) for s, frame in zip(group, frames, strict=True)]
        return ForwardPasses(theta, version), answers

    def backward(
        self,
        group: Sequence[SentActivations],
        answers: Mapping[str, LossAnswer],
        passes: ForwardPasses,
    ) -> list[PassResult]:
        """Compute the backward passes of a `group`, and make a step along their mean.

        The gradients are those at the parameters of the forward `passes`. `answers` holds the
        devices' answers to their logits, by name.
        """
        slopes = []
        for sent in group:
            answer = answers[sent.node]
            gradients = self._part.slopes_of(passes.theta, sent.values, sent.rows, answer.gradient)
            slopes.append(Slopes(answer.loss, *gradients))
        return self._step(group, slopes, passes.version)

    def _step(
        self, group: Sequence[SentActivations], slopes: Sequence[Slopes], version: int
    ) -> list[PassResult]:
        """Move the parameters along the mean of `slopes`, weighted by examples.

        A pass that is not finite has no part in the step; its device gets a gradient of NaN.
        """
        before = self.parameters.version
        finite = [
            (sent, passed)
            for sent, passed in zip(group, slopes, strict=True)
            if np.isfinite(passed.parameters).all() and np.isfinite(passed.activations).all()
        ]
        if finite:
            gradients = [(Gradient(passed.parameters), before) for _, passed in finite]
            self.parameters.apply(gradients, _weights([sent.rows for sent, _ in finite]))
        whole = {sent.node for sent, _ in finite}
        stale, after = before - version, self.parameters.version
        return [
            PassResult(sent, self._answer(sent, passed, sent.node in whole), after, stale)
            for sent, passed in zip(group, slopes, strict=True)
        ]

    def _answer(self, sent: SentActivations, passed: Slopes, finite: bool) -> ActivationGradient:
        values = passed.activations if finite else np.full_like(passed.activations, np.nan)
        frame = self._coding.encode_gradient(values, sent.rows)
        return ActivationGradient(sent.ticket, passed.loss, frame)


def _weights(rows: Sequence[int]) -> list[float] | None:
    """Return the mini-batch sizes `rows` as weights of a mean; None for equal weights."""
    return None if len(set(rows)) == 1 else [float(number) for number in rows]
