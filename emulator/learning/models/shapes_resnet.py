"""Model `shapes-resnet`: a residual network of 20 layers for colour images; 309,354 parameters."""

from .resnet import resnet
from .task import Task

SHAPES_RESNET = resnet("shapes-resnet", Task("images", (32, 32, 3), classes=10))
