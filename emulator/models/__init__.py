"""The model zoo: one file for each model, small enough to train on a phone."""

from ..errors import suggestion
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

_ALL = (
    MNIST_CNN,
    MNIST_LENET,
    MNIST_VGG,
    MNIST_RESNET,
    MNIST_MLP,
    MNIST_SOFTMAX,
    DIGITS_MLP,
    DIGITS_SOFTMAX,
    CHAR_LSTM,
)
MODELS = {model.name: model for model in _ALL}


def find(name: str) -> Model:
    """Return the model called `name`. Raises ValueError with the known names and a suggestion."""
    if name in MODELS:
        return MODELS[name]
    raise ValueError(f"{name!r} is not {' or '.join(MODELS)}{suggestion(name, MODELS)}")


__all__ = ["MODELS", "Model", "find"]
