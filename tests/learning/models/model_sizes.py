"""The parameters and layers of each model."""

SIZES = {
    "mnist-cnn": (421_642, 8),
    "mnist-lenet": (431_080, 8),
    "mnist-vgg": (397_114, 22),
    "mnist-resnet": (299_466, 40),
    "mnist-mlp": (669_706, 6),
    "mnist-softmax": (7_850, 2),
    "digits-mlp": (17_226, 6),
    "digits-softmax": (650, 2),
    "shapes-resnet": (309_354, 40),
    "char-lstm": (218_144, 8),
}
KINDS = {
    "mnist-cnn": ["conv", "conv", "dense", "dense"],
    "mnist-lenet": ["conv", "conv", "dense", "dense"],
    "mnist-vgg": ["conv"] * 9 + ["dense"] * 2,
    "mnist-resnet": ["conv"] * 19 + ["dense"],
    "mnist-mlp": ["dense"] * 3,
    "mnist-softmax": ["dense"],
    "digits-mlp": ["dense"] * 3,
    "digits-softmax": ["dense"],
    "shapes-resnet": ["conv"] * 19 + ["dense"],
    "char-lstm": ["recurrent", "recurrent", "dense"],
}
"""Of each layer's weights."""
