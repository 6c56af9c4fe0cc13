"""Model `char-lstm`: two LSTM layers of 128 units predict characters; 218,144 parameters.

The sizes are defaults of Karpathy's char-rnn: two layers of 128 units unrolled over 50 characters.
Chen et al. (2018) tested residual compression on a network of that kind. The layers (LSTM, long
short-term memory) are unrolled, with a backward pass written by hand: TensorFlow's gradient of a
loop adds up the recurrent weights' gradient once a character, and so does its fused operation. Here
it is one matrix product, which takes less time and memory.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...layout import Layout, Variable
from .base import Model
from .layers import dense, glorot_uniform, lstm
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


def lstm_outputs(tf: Any, entered: Any, recurrent: Any) -> Any:
    """Return the outputs [length, batch, units] of an LSTM that begins with an empty memory.

    `entered` [length, batch, 4 · units] is the contribution of inputs and bias to the gates: input,
    forget, candidate, output (Hochreiter & Schmidhuber, 1997; Gers et al., 2000). `recurrent` is
    [units, 4 · units].
    """
    unrolled = tf.custom_gradient(lambda *given: _forward(tf, *given))
    return unrolled(entered, recurrent)


def _forward(tf: Any, entered: Any, recurrent: Any) -> Any:
    """Return the outputs and the function that maps their gradients to those of the arguments."""
    state = output = tf.zeros([tf.shape(entered)[1], recurrent.shape[0]])
    outputs, steps = [output], []  # `outputs` has the output before each step: length + 1 items
    for gates_input in tf.unstack(entered):
        enter, keep, candidate, leave = tf.split(gates_input + tf.matmul(output, recurrent), 4, 1)
        enter, keep, leave = tf.sigmoid(enter), tf.sigmoid(keep), tf.sigmoid(leave)
        candidate, before = tf.tanh(candidate), state
        state = keep * before + enter * candidate
        shown = tf.tanh(state)
        output = leave * shown
        outputs.append(output)
        steps.append((enter, keep, candidate, leave, before, shown))

    def back(slopes: Any) -> tuple[Any, Any]:
        return _backward(tf, slopes, recurrent, tf.stack(outputs[:-1]), steps)

    return tf.stack(outputs[1:]), back


def _backward(tf: Any, slopes: Any, recurrent: Any, outputs: Any, steps: Any) -> tuple[Any, Any]:
    """Return the gradients of `entered` and `recurrent`; `slopes` are the outputs' gradients.

    `outputs` [length, batch, units] are the outputs before each step, `steps` the gates of each
    step.
    """
    sigmoid, tanh = tf.raw_ops.SigmoidGrad, tf.raw_ops.TanhGrad
    later_output = later_state = tf.zeros_like(outputs[0])
    gates = []
    for slope, step in zip(reversed(tf.unstack(slopes)), reversed(steps), strict=True):
        enter, keep, candidate, leave, before, shown = step
        # gradients of this step's output and state: from the loss, and from the later step
        slope += later_output
        state = later_state + tanh(y=shown, dy=slope * leave)
        gate = tf.concat(
            [
                sigmoid(y=enter, dy=state * candidate),
                sigmoid(y=keep, dy=state * before),
                tanh(y=candidate, dy=state * enter),
                sigmoid(y=leave, dy=slope * shown),
            ],
            1,
        )
        later_output, later_state = tf.matmul(gate, recurrent, transpose_b=True), state * keep
        gates.append(gate)
    entered = tf.stack(gates[::-1])
    units = recurrent.shape[0]
    # one product over all characters and texts gives the gradient of the recurrent weights
    flat = tf.reshape(outputs, [-1, units]), tf.reshape(entered, [-1, 4 * units])
    return entered, tf.matmul(*flat, transpose_a=True)
