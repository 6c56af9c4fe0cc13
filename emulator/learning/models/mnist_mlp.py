"""Model `mnist-mlp`: a perceptron 784-512-512-10 for MNIST; 669,706 parameters."""

from .mlp import mlp
from .task import Task

MNIST_MLP = mlp("mnist-mlp", Task("images", (28, 28), classes=10), hidden=(512, 512))
