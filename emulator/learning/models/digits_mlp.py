"""Model `digits-mlp`: a perceptron 64-128-64-10 for 8×8 digits; 17,226 parameters, for quick
runs."""

from .mlp import mlp
from .task import Task

DIGITS_MLP = mlp("digits-mlp", Task("images", (8, 8), classes=10), hidden=(128, 64))
