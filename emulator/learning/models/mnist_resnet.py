"""Model `mnist-resnet`: a residual network of 20 layers; 299,466 parameters."""

from .resnet import resnet
from .task import Task

MNIST_RESNET = resnet("mnist-resnet", Task("images", (28, 28), classes=10))
