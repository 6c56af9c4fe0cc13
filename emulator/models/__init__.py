"""The model zoo: one file a model, each small enough to train on a phone."""

from difflib import get_close_matches

from .base import Model
from .char_lstm import CHAR_LSTM
from .digits_mlp import DIGITS_MLP
from .mnist_cnn import MNIST_CNN
from .mnist_lenet import MNIST_LENET
from .mnist_mlp import MNIST_MLP

_ALL = (MNIST_CNN, MNIST_LENET, MNIST_MLP, DIGITS_MLP, CHAR_LSTM)
MODELS = {model.name: model for model in _ALL}


def find(name: str) -> Model:
    """The model of that name; a ValueError says which there are and which was meant."""
    if name in MODELS:
        return MODELS[name]
    close = get_close_matches(name, MODELS, n=1)
    meant = f" (did you mean {close[0]!r}?)" if close else ""
    raise ValueError(f"{name!r} is not {' or '.join(MODELS)}{meant}")


__all__ = ["MODELS", "Model", "find"]
