"""The perceptron 784-512-512-10 for MNIST: 669,706 parameters."""

from .mlp import mlp

MNIST_MLP = mlp("mnist-mlp", shape=(28, 28), hidden=(512, 512), classes=10)
