"""Model `digits-softmax`: softmax regression from 64 pixels to 10 digits; 650 parameters.

The loss is convex, so all weights begin at zero, and runs with different seeds begin alike. Theory
of stochastic gradient descent, such as that of implicit momentum, is tested on this model.
"""

from .layers import zeros
from .mlp import mlp
from .task import Task

DIGITS_SOFTMAX = mlp("digits-softmax", Task("images", (8, 8), classes=10), hidden=(), draw=zeros)
