"""VGG-19, GoogLeNet, Inception-v4 and ResNet-152, as their papers define them.

Parallel branches follow each other in the order in which the papers list them, so a layer only
needs layers before it.
"""

from .tracing import Feature, TracedLayer, Tracer, join, pool

CLASSES = 1000
"""Classes of ImageNet's challenge, which all four networks were made for."""


def vgg_19() -> list[TracedLayer]:
    """Simonyan & Zisserman (2015), table 1, column E; 224 × 224 images."""
    net, x = Tracer(), Feature(3, 224)
    for block, (filters, count) in enumerate([(64, 2), (128, 2), (256, 4), (512, 4), (512, 4)], 1):
        for number in range(1, count + 1):
            x = net.conv(f"conv{block}_{number}", x, filters, 3)
        x = pool(x, 2, 2)
    width = net.dense("fc6", x.channels * x.side**2, 4096)
    net.dense("fc8", net.dense("fc7", width, 4096), CLASSES)
    return net.layers


_INCEPTION_V1 = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
"""Columns `#1×1` to `pool proj` of table 1 of Szegedy et al. (2015)."""


def googlenet() -> list[TracedLayer]:
    """Szegedy et al. (2015), table 1, without the auxiliary classifiers; 224 × 224 images."""
    net = Tracer()
    x = pool(net.conv("conv1", Feature(3, 224), 64, 7, 2), 3, 2)
    x = net.conv("conv2/reduce", x, 64, 1)
    x = pool(net.conv("conv2", x, 192, 3), 3, 2)
    for block, (one, reduce3, three, reduce5, five, projected) in _INCEPTION_V1.items():
        if block in ("4a", "5a"):
            x = pool(x, 3, 2)
        name = f"inception{block}"
        x = join(
            net.conv(f"{name}/1x1", x, one, 1),
            net.conv(f"{name}/3x3", net.conv(f"{name}/3x3/reduce", x, reduce3, 1), three, 3),
            net.conv(f"{name}/5x5", net.conv(f"{name}/5x5/reduce", x, reduce5, 1), five, 5),
            net.conv(f"{name}/pool", x, projected, 1),
        )
    net.dense("fc", x.channels, CLASSES)
    return net.layers


def resnet_152() -> list[TracedLayer]:
    """He et al. (2016), table 1, projection shortcuts (option B); 224 × 224 images.

    As in the paper, the first convolution of a stage has the stride.
    """
    net = Tracer(normed=True)
    x = pool(net.conv("conv1", Feature(3, 224), 64, 7, 2), 3, 2)
    for stage, (width, blocks) in enumerate([(64, 3), (128, 8), (256, 36), (512, 3)], 2):
        for block in range(1, blocks + 1):
            name, stride = f"conv{stage}_{block}", 2 if block == 1 and stage > 2 else 1
            y = net.conv(f"{name}/1", x, width, 1, stride)
            y = net.conv(f"{name}/3", net.conv(f"{name}/2", y, width, 3), 4 * width, 1)
            if block == 1:
                net.conv(f"{name}/shortcut", x, 4 * width, 1, stride)
            x = y
    net.dense("fc", x.channels, CLASSES)
    return net.layers


def inception_v4() -> list[TracedLayer]:
    """Szegedy et al. (2017), figures 3 to 9; 299 × 299 images."""
    net = Tracer(normed=True)
    x = _stem(net)
    for number in range(1, 5):
        x = _inception_a(net, f"inception-a{number}", x)
    x = _reduction_a(net, "reduction-a", x)
    for number in range(1, 8):
        x = _inception_b(net, f"inception-b{number}", x)
    x = _reduction_b(net, "reduction-b", x)
    for number in range(1, 4):
        x = _inception_c(net, f"inception-c{number}", x)
    net.dense("fc", x.channels, CLASSES)
    return net.layers


_Step = tuple[int, tuple[int, int]]
"""Filters and kernel of a convolution of a branch."""


def _chain(net: Tracer, name: str, x: Feature, *steps: _Step) -> Feature:
    """Add convolutions one behind another, numbered from 1, and return the output of the last."""
    for number, (filters, kernel) in enumerate(steps, 1):
        x = net.conv(f"{name}/{number}", x, filters, kernel)
    return x


def _stem(net: Tracer) -> Feature:
    """Figure 3."""
    x = net.conv("stem/1", Feature(3, 299), 32, 3, 2, "valid")
    x = net.conv("stem/2", x, 32, 3, padding="valid")
    x = net.conv("stem/3", x, 64, 3)
    x = join(pool(x, 3, 2, "valid"), net.conv("stem/4", x, 96, 3, 2, "valid"))
    left = _chain(net, "stem/left", x, (64, (1, 1)))
    left = net.conv("stem/left/2", left, 96, 3, padding="valid")
    right = _chain(net, "stem/right", x, (64, (1, 1)), (64, (7, 1)), (64, (1, 7)))
    x = join(left, net.conv("stem/right/4", right, 96, 3, padding="valid"))
    return join(net.conv("stem/5", x, 192, 3, 2, "valid"), pool(x, 3, 2, "valid"))


def _inception_a(net: Tracer, name: str, x: Feature) -> Feature:
    """Figure 4."""
    return join(
        _chain(net, f"{name}/pool", x, (96, (1, 1))),
        _chain(net, f"{name}/1x1", x, (96, (1, 1))),
        _chain(net, f"{name}/3x3", x, (64, (1, 1)), (96, (3, 3))),
        _chain(net, f"{name}/double", x, (64, (1, 1)), (96, (3, 3)), (96, (3, 3))),
    )


def _inception_b(net: Tracer, name: str, x: Feature) -> Feature:
    """Figure 5."""
    double = ((192, (1, 1)), (192, (1, 7)), (224, (7, 1)), (224, (1, 7)), (256, (7, 1)))
    return join(
        _chain(net, f"{name}/pool", x, (128, (1, 1))),
        _chain(net, f"{name}/1x1", x, (384, (1, 1))),
        _chain(net, f"{name}/7x7", x, (192, (1, 1)), (224, (1, 7)), (256, (7, 1))),
        _chain(net, f"{name}/double", x, *double),
    )


def _inception_c(net: Tracer, name: str, x: Feature) -> Feature:
    """Figure 6."""
    pooled = _chain(net, f"{name}/pool", x, (256, (1, 1)))
    single = _chain(net, f"{name}/1x1", x, (256, (1, 1)))
    short = _chain(net, f"{name}/3x3", x, (384, (1, 1)))
    shorts = _fork(net, f"{name}/3x3", short)
    steps = ((384, (1, 1)), (448, (1, 3)), (512, (3, 1)))
    long = _chain(net, f"{name}/double", x, *steps)
    return join(pooled, single, *shorts, *_fork(net, f"{name}/double", long))


def _fork(net: Tracer, name: str, x: Feature) -> tuple[Feature, Feature]:
    """Add the two convolutions of 256 filters at the end of a branch of figure 6."""
    wide = net.conv(f"{name}/wide", x, 256, (1, 3))
    return wide, net.conv(f"{name}/high", x, 256, (3, 1))


def _reduction_a(net: Tracer, name: str, x: Feature) -> Feature:
    """Figure 7, with k, l, m, n of table 1."""
    k, l, m, n = 192, 224, 256, 384  # noqa: E741 - the paper's names
    single = net.conv(f"{name}/3x3", x, n, 3, 2, "valid")
    double = _chain(net, f"{name}/double", x, (k, (1, 1)), (l, (3, 3)))
    double = net.conv(f"{name}/double/3", double, m, 3, 2, "valid")
    return join(pool(x, 3, 2, "valid"), single, double)


def _reduction_b(net: Tracer, name: str, x: Feature) -> Feature:
    """Figure 8."""
    single = _chain(net, f"{name}/3x3", x, (192, (1, 1)))
    single = net.conv(f"{name}/3x3/2", single, 192, 3, 2, "valid")
    double = _chain(net, f"{name}/7x7", x, (256, (1, 1)), (256, (1, 7)), (320, (7, 1)))
    double = net.conv(f"{name}/7x7/4", double, 320, 3, 2, "valid")
    return join(pool(x, 3, 2, "valid"), single, double)
