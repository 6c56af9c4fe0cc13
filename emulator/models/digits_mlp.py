"""The perceptron 64-128-64-10 for the 8×8 digits: 17,226 parameters, for runs that take seconds."""

from .mlp import mlp

DIGITS_MLP = mlp("digits-mlp", shape=(8, 8), hidden=(128, 64), classes=10)
