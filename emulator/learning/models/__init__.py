"""The model zoo: one file for each model, small enough to train on a phone; and own models."""

from dataclasses import replace
from pathlib import Path

from ...errors import suggestion
from .base import Model
from .char_lstm import CHAR_LSTM
from .digits_mlp import DIGITS_MLP
from .digits_softmax import DIGITS_SOFTMAX
from .mnist_cnn import MNIST_CNN
from .mnist_lenet import MNIST_LENET
from .mnist_mlp import MNIST_MLP
from .mnist_resnet import MNIST_RESNET
from .mnist_softmax import MNIST_SOFTMAX
from .mnist_vgg import MNIST_VGG
from .own_model import DESCRIPTION, ModelSource, OwnModel
from .shapes_resnet import SHAPES_RESNET

_ALL = (
    MNIST_CNN,
    MNIST_LENET,
    MNIST_VGG,
    MNIST_RESNET,
    MNIST_MLP,
    MNIST_SOFTMAX,
    DIGITS_MLP,
    DIGITS_SOFTMAX,
    SHAPES_RESNET,
    CHAR_LSTM,
)
MODELS = {model.name: model for model in _ALL}

_OWN: dict[str, OwnModel] = {}
"""Own models that this process knows, by name."""


def find(name: str) -> Model:
    """Return the model called `name`. Raises ValueError with the known names and a suggestion."""
    if name in MODELS:
        return MODELS[name]
    if name in _OWN:
        return _OWN[name]
    raise ValueError(f"{name!r}{suggestion(name, MODELS)} is not {' or '.join(MODELS)}")


def register(folder: Path, origin: ModelSource | None = None) -> OwnModel:
    """Return the own model that was exported to `folder`; `find` knows it from now on.

    The name of an own model has a digest of its source, so no other model has the name. `origin` is
    where the same source is now, as the export remembers where it was at that time.
    """
    model = OwnModel.read(folder)
    if origin is not None:
        model = replace(model, origin=origin)
    _OWN[model.name] = model
    return model


def register_own(folder: Path) -> None:
    """Let `find` know the model that was exported to `folder`, if it is an own model."""
    if (folder / DESCRIPTION).exists():
        register(folder)


__all__ = ["MODELS", "Model", "OwnModel", "find", "register", "register_own"]
