"""Model `mnist-softmax`: softmax regression from 784 pixels to 10 digits; 7,850 parameters.

The loss is convex, and all weights begin at zero, as those of `digits-softmax` do.
"""

from .layers import zeros
from .mlp import mlp
from .task import Task

MNIST_SOFTMAX = mlp("mnist-softmax", Task("images", (28, 28), classes=10), hidden=(), draw=zeros)
