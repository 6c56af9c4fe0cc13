"""Long short-term memory, unrolled, with its way back by hand.

TensorFlow's own gradient of a loop adds up that of the recurrent weights once a character, and so
does its one operation for it all; here it is one product, which takes less time and memory.
"""

from typing import Any


def lstm_outputs(tf: Any, entered: Any, recurrent: Any) -> Any:
    """The outputs [length, batch, units], from an empty memory on.

    `entered` [length, batch, 4 · units] is what the inputs and the bias put into the gates: input,
    forget, candidate, output (Hochreiter & Schmidhuber, 1997; Gers et al., 2000).
    """
    unrolled = tf.custom_gradient(lambda *given: _forward(tf, *given))
    return unrolled(entered, recurrent)


def _forward(tf: Any, entered: Any, recurrent: Any) -> Any:
    state = output = tf.zeros([tf.shape(entered)[1], recurrent.shape[0]])
    outputs, steps = [output], []
    for one in tf.unstack(entered):
        enter, keep, candidate, leave = tf.split(one + tf.matmul(output, recurrent), 4, 1)
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
    sigmoid, tanh = tf.raw_ops.SigmoidGrad, tf.raw_ops.TanhGrad
    later_output = later_state = tf.zeros_like(outputs[0])
    gates = []
    for slope, step in zip(reversed(tf.unstack(slopes)), reversed(steps), strict=True):
        enter, keep, candidate, leave, before, shown = step
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
    flat = tf.reshape(outputs, [-1, units]), tf.reshape(entered, [-1, 4 * units])
    return entered, tf.matmul(*flat, transpose_a=True)
