"""The variables of the usual layers: weights first, then the bias."""

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
