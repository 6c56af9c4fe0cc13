"""The perceptron 64-128-64-10 for the 8×8 digits: 17,226 parameters, for runs that take seconds."""

from ..task import Task
from .mlp import mlp

DIGITS_MLP = mlp("digits-mlp", Task("images", (8, 8), classes=10), hidden=(128, 64))
