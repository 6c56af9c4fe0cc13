"""Variables of common layers: weights first, the bias last."""

from ...layout import Variable


def conv(layer: int, size: int, channels: int, filters: int) -> tuple[Variable, Variable]:
    """Return the variables of a convolution with `filters` windows of `size` × `size` pixels."""
    name = f"conv{layer}"
    return (
        Variable(f"{name}/weights", (size, size, channels, filters), "conv", layer),
        Variable(f"{name}/bias", (filters,), "bias", layer),
    )


def dense(layer: int, inputs: int, outputs: int) -> tuple[Variable, Variable]:
    """Return the variables of a dense layer: weights [inputs, outputs] and bias [outputs]."""
    name = f"dense{layer}"
    return (
        Variable(f"{name}/weights", (inputs, outputs), "dense", layer),
        Variable(f"{name}/bias", (outputs,), "bias", layer),
    )


def lstm(layer: int, inputs: int, units: int) -> tuple[Variable, Variable, Variable]:
    """Return the variables of an LSTM layer: input weights, recurrent weights, bias.

    The four gates stand side by side in the last dimension, 4 · `units`.
    """
    name = f"lstm{layer}"
    return (
        Variable(f"{name}/weights", (inputs, 4 * units), "recurrent", layer),
        Variable(f"{name}/recurrent", (units, 4 * units), "recurrent", layer),
        Variable(f"{name}/bias", (4 * units,), "bias", layer),
    )
