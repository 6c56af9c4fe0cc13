"""Model `char-lstm`: two LSTM layers of 128 units predict characters; 218,144 parameters.

The sizes are defaults of Karpathy's char-rnn: two layers of 128 units unrolled over 50 characters.
Chen et al. (2018) tested residual compression on a network of that kind.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...layout import Layout, Variable
from .base import Model
from .draws import glorot_uniform
from .layers import dense, lstm
from .recurrence import lstm_outputs
from .task import Task

LENGTH, ALPHABET = 50, 32
UNITS = (128, 128)


def _draw(variable: Variable, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw Glorot values gate by gate; the forget gate's bias is 1 (Jozefowicz et al., 2015)."""
    if variable.kind == "recurrent":
        inputs, units = variable.shape[0], variable.shape[1] // 4
        gate = Variable(variable.name, (inputs, units), variable.kind, variable.layer)
        return np.hstack([glorot_uniform(gate, rng) for _ in range(4)])
    values = glorot_uniform(variable, rng)
    if variable.name.startswith("lstm"):
        np.split(values, 4)[_FORGET][:] = 1
    return values


_FORGET = 1
"""Index of the forget gate in the order input, forget, candidate, output."""


def _logits(tf: Any, variables: Sequence[Any], x: Any) -> Any:
    """Return logits [batch, length, classes]; each text begins with an empty memory."""
    *lstms, weights, bias = variables
    x = tf.one_hot(tf.cast(tf.transpose(x), tf.int32), ALPHABET)  # [length, batch, alphabet]
    for entering, recurrent, offset in zip(lstms[::3], lstms[1::3], lstms[2::3], strict=True):
        x = lstm_outputs(tf, _per_character(tf, x, entering) + offset, recurrent)
    logits = _per_character(tf, x, weights) + bias
    return tf.transpose(logits, [1, 0, 2])


def _per_character(tf: Any, x: Any, weights: Any) -> Any:
    """Return the product of `x` [length, batch, inputs] and `weights`, as one matrix product."""
    inputs, outputs = weights.shape
    flat = tf.matmul(tf.reshape(x, [-1, inputs]), weights)
    return tf.reshape(flat, [LENGTH, -1, outputs])


CHAR_LSTM = Model(
    "char-lstm",
    Task("texts", (LENGTH,), classes=ALPHABET),
    Layout(
        (
            *(v for n, ends in enumerate(pairwise((ALPHABET, *UNITS))) for v in lstm(n, *ends)),
            *dense(len(UNITS), UNITS[-1], ALPHABET),
        )
    ),
    _draw,
    _logits,
    crossings=tuple(LENGTH * units for units in UNITS),
)
