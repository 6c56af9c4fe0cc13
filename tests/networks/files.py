"""Writes the shipped layer tables: `python -m tests.networks.files`."""

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from tests.layers import ROOT

from .architectures import googlenet, inception_v4, resnet_152, vgg_19
from .tracing import TracedLayer

NETWORKS = ROOT / "scenarios" / "profiles" / "networks"


@dataclass(frozen=True)
class Shipped:
    """A network with a file in `scenarios/profiles/networks`."""

    trace: Callable[[], list[TracedLayer]]
    description: str
    source: str
    input: int
    """Side of an image of three channels."""

    def text(self) -> str:
        """Return the file's text."""
        about = _folded("description", self.description)
        source = _folded("source", f"{self.source} {_COMPUTED}")
        shape = f"input: [{self.input}, {self.input}, 3]\n"
        return f"{about}{source}{shape}layers:\n{''.join(map(_row, self.trace()))}"


_COMPUTED = (
    "Computed from the definition by tests/networks: multiply-adds of convolutions and dense layers"
    " in the forward pass of one image; activations are their outputs, before pooling."
)

SHIPPED = {
    "vgg-19": Shipped(
        vgg_19,
        "VGG-19 for ImageNet's 1,000 classes: 19 layers, 143.7 million parameters.",
        'Simonyan & Zisserman, "Very deep convolutional networks for large-scale image '
        'recognition", ICLR 2015, table 1, column E.',
        224,
    ),
    "googlenet": Shipped(
        googlenet,
        "GoogLeNet (Inception v1) for ImageNet's 1,000 classes, without the two auxiliary "
        "classifiers: 58 layers with parameters (22 in depth), 7.0 million parameters.",
        'Szegedy et al., "Going deeper with convolutions", CVPR 2015, table 1; with biases, '
        "without batch norm. Parallel branches follow each other as in the table.",
        224,
    ),
    "inception-v4": Shipped(
        inception_v4,
        "Inception-v4 for ImageNet's 1,000 classes: 150 layers with parameters, 42.7 million "
        "parameters.",
        'Szegedy et al., "Inception-v4, Inception-ResNet and the impact of residual connections on '
        'learning", AAAI 2017, figures 3 to 9; batch norm with scale and shift in place of biases. '
        "Parallel branches follow each other.",
        299,
    ),
    "resnet-152": Shipped(
        resnet_152,
        "ResNet-152 for ImageNet's 1,000 classes: 156 layers with parameters, which are the 152 of "
        "the name and four projections of shortcuts; 60.2 million parameters.",
        'He et al., "Deep residual learning for image recognition", CVPR 2016, table 1; batch norm '
        "with scale and shift in place of biases. A projection follows the three layers beside it.",
        224,
    ),
}
"""The shipped networks by name."""


def _folded(key: str, text: str) -> str:
    """Return `text` as a folded block of YAML, as people write it."""
    lines = textwrap.wrap(text, 100, initial_indent="  ", subsequent_indent="  ")
    return "\n".join([f"{key}: >-", *lines, ""])


def _row(layer: TracedLayer) -> str:
    values = ", ".join(f"{key}: {value}" for key, value in asdict(layer).items())
    return f"  - {{{values}}}\n"


def write(names: Iterable[str]) -> None:
    """Write the files of the networks `names`."""
    for name in names:
        (NETWORKS / f"{name}.yaml").write_text(SHIPPED[name].text())


if __name__ == "__main__":
    write(SHIPPED)
