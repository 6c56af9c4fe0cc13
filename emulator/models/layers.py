"""The variables of the usual layers: weights first, the bias last."""

from ..layout import Variable


def conv(layer: int, size: int, channels: int, filters: int) -> tuple[Variable, Variable]:
    name = f"conv{layer}"
    return (
        Variable(f"{name}/weights", (size, size, channels, filters), "conv", layer),
        Variable(f"{name}/bias", (filters,), "bias", layer),
    )


def dense(layer: int, inputs: int, outputs: int) -> tuple[Variable, Variable]:
    name = f"dense{layer}"
    return (
        Variable(f"{name}/weights", (inputs, outputs), "dense", layer),
        Variable(f"{name}/bias", (outputs,), "bias", layer),
    )


def lstm(layer: int, inputs: int, units: int) -> tuple[Variable, Variable, Variable]:
    """Long short-term memory: four gates side by side, of the input and of the last output."""
    name = f"lstm{layer}"
    return (
        Variable(f"{name}/weights", (inputs, 4 * units), "recurrent", layer),
        Variable(f"{name}/recurrent", (units, 4 * units), "recurrent", layer),
        Variable(f"{name}/bias", (4 * units,), "bias", layer),
    )
