"""Images a second of one core, by how many images are lowered and multiplied at once.

    python -m tests.benchmarks.single_node [--docs docs] [--gradients]

A convolution is lowered (im2col: each output position becomes a row with its inputs) and multiplied
with the kernels as one matrix. Caffe lowers one image at a time, b_p = 1; Omnivore b_p images
(Hadjis et al., arXiv 1606.04487, section on single-node optimisation). Prints a table; with
`--docs` it writes the block of FOLDER/single-node.md and a figure beside that page. Times are CPU
times of one thread. Takes about three minutes, with `--gradients` four.
"""

import argparse
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from analysis import papers
from analysis.papers import markdown
from analysis.papers.claims import Judged
from analysis.papers.declaration import Claim
from analysis.papers.host_measurements import judge_values
from emulator.sweeps.studies.play_study import played_by

Array = NDArray[np.float32]

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that must be 1 when NumPy is loaded; `make` sets them."""
AT_ONCE = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Values of b_p."""
MOST_BYTES = 256 << 20
"""Largest lowered matrix: more images at once are not tried."""
ROUNDS, SPAN = 5, 0.1
"""Rounds over all values of b_p, and CPU seconds of each value in a round; the fastest counts."""
FASTER = Claim(
    "a convolution of several images at once is at least 5.5 times faster than of one at a time",
    rule="all-at-least",
    where="abstract, of whole systems with many cores",
    bound=5.5,
    reason="one image already gives the BLAS hundreds of rows, and the paper has many cores",
)
PROTOCOL = (
    "forward passes in NumPy, lowering included, and whole gradients in TensorFlow; one thread",
    f"for each number of images at once {ROUNDS} turns of {SPAN:g} s of CPU time, of which the "
    "fastest counts; the numbers take turns",
    f"random inputs; lowered matrices of up to {MOST_BYTES >> 20} MiB",
)
PICTURE = "single-node.png"


@dataclass(frozen=True)
class Convolution:
    """The shape of a layer: a square image, already padded, and square kernels."""

    name: str
    size: int
    """Side of the padded image."""
    kernel: int
    channels: int
    filters: int
    stride: int = 1

    @property
    def outputs(self) -> int:
        """Output positions of an image."""
        return ((self.size - self.kernel) // self.stride + 1) ** 2

    @property
    def inputs(self) -> int:
        """Inputs of a position: columns of the lowered matrix."""
        return self.kernel**2 * self.channels


LAYERS = (
    Convolution("mnist-cnn conv0", 30, 3, 1, 32),
    Convolution("mnist-cnn conv1", 16, 3, 32, 64),
    Convolution("mnist-lenet conv0", 28, 5, 1, 20),
    Convolution("mnist-lenet conv1", 12, 5, 20, 50),
    # bvlc_reference_caffenet/deploy.prototxt of Caffe (Jia et al., 2014); one of two groups of
    # channels where the layer has them, as in conv2, conv4 and conv5
    Convolution("CaffeNet conv1", 227, 11, 3, 96, stride=4),
    Convolution("CaffeNet conv2", 31, 5, 48, 128),
    Convolution("CaffeNet conv3", 15, 3, 256, 384),
    Convolution("CaffeNet conv4", 15, 3, 192, 192),
    Convolution("CaffeNet conv5", 15, 3, 192, 128),
    # a dense layer is a convolution with a single position
    Convolution("CaffeNet fc6", 6, 6, 256, 4096),
)


def forward(layer: Convolution, images: int) -> Callable[[], Array]:
    """Return the layer's forward pass over so many images at once, in memory of its own."""
    dice = np.random.default_rng(0)
    shape = images, layer.size, layer.size, layer.channels
    x = dice.standard_normal(shape, np.float32)
    kernels = dice.standard_normal((layer.inputs, layer.filters), np.float32)
    side = layer.kernel, layer.kernel
    # [image, row, column, channel, kernel row, kernel column]: a view, nothing is copied yet
    windows = sliding_window_view(x, side, (1, 2))[:, :: layer.stride, :: layer.stride]
    ordered = windows.transpose(0, 1, 2, 4, 5, 3)
    lowered = np.empty(ordered.shape, np.float32)
    matrix = lowered.reshape(images * layer.outputs, layer.inputs)
    result = np.empty((len(matrix), layer.filters), np.float32)

    def step() -> Array:
        np.copyto(lowered, ordered)
        return np.matmul(matrix, kernels, out=result)

    return step


def throughput(step: Callable[[], object], images: int) -> float:
    """Return images per CPU second of repeated calls of `step`, each over so many `images`."""
    calls, began = 0, time.process_time()
    while (spent := time.process_time() - began) < SPAN:
        step()
        calls += 1
    return calls * images / spent


def measure(steps: Mapping[int, Callable[[], object]]) -> dict[int, float]:
    """Return the best images a second for each number of images at once.

    The values take turns, so that a disturbance of the host strikes all of them.
    """
    best = dict.fromkeys(steps, 0.0)
    for step in steps.values():
        step()  # touches its memory
    for _ in range(ROUNDS):
        for images, step in steps.items():
            best[images] = max(best[images], throughput(step, images))
    return best


def layers() -> dict[str, dict[int, float]]:
    """Return images a second of each layer's forward pass by b_p."""
    found = {}
    for layer in LAYERS:
        fitting = [n for n in AT_ONCE if n * layer.outputs * layer.inputs * 4 <= MOST_BYTES]
        found[layer.name] = measure({images: forward(layer, images) for images in fitting})
        print(layer.name, flush=True)
    return found


def gradients() -> dict[str, dict[int, float]]:
    """Return images a second of TensorFlow's whole gradient by the size of the mini-batch."""
    from emulator.learning import datasets, models
    from emulator.learning.learners.export import exported
    from emulator.learning.learners.graph import GraphLearner

    data, found = datasets.load("mnist").train, {}
    for name in ("mnist-cnn", "mnist-lenet"):
        learner, theta = GraphLearner(exported(name)), models.find(name).initial(0)
        batches = {images: data.batch(slice(0, images)) for images in AT_ONCE}

        def step(images: int, learner=learner, theta=theta, batches=batches) -> object:
            return learner.gradient(theta, *batches[images])

        steps = {images: partial(step, images) for images in AT_ONCE}
        found[f"{name} gradient"] = measure(steps)
        print(f"{name} gradient", flush=True)
    return found


def gains(rates: dict[int, float]) -> dict[int, float]:
    """Return the throughput over that of one image at a time, by images at once."""
    return {images: rate / rates[1] for images, rate in rates.items()}


def table(found: dict[str, dict[int, float]]) -> str:
    """Return a Markdown table: images a second one at a time, at best, and most at once."""
    lines = []
    for name, rates in found.items():
        best, most = max(rates, key=rates.__getitem__), max(rates)
        ends = [[f"{images}", f"{gains(rates)[images]:.2f} ×"] for images in (best, most)]
        lines.append([name, f"{rates[1]:,.0f}", f"{rates[best]:,.0f}", *ends[0], *ends[1]])
    names = "one at a time (images per second)", "best", "at once", "gain", "most at once", "gain"
    return markdown.table(["", *names], lines)


def claims(found: dict[str, dict[int, float]]) -> list[Judged]:
    """Return the claim of the paper, judged by the convolutions, each at its best."""
    best = {name: max(gains(rates).values()) for name, rates in found.items() if "conv" in name}
    return [judge_values(FASTER, best, lambda gain: f"{gain:.2f} ×")]


def draw(found: dict[str, dict[int, float]], path: Path) -> None:
    """Draw throughput against b_p, relative to one image at a time, into the PNG file `path`."""
    from analysis.pictures.line_styles import series
    from analysis.pictures.picture_file import sheet

    with sheet(path, 7.2, 4.2) as figure:
        ax = figure.subplots()
        for look, (name, rates) in zip(series(len(found)), found.items(), strict=True):
            ax.plot(list(rates), list(gains(rates).values()), label=name, **look.marked(len(rates)))
        ax.set_xscale("log", base=2)
        ax.set_yscale("log", base=2)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.set_xlabel("Images lowered and multiplied at once, b_p")
        ax.set_ylabel("Throughput over one image at a time")
        figure.legend(loc="outside right upper", frameon=False, handlelength=3.2)


def library() -> str:
    """Return the library that multiplies matrices, with its version."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"NumPy {np.__version__} with {blas['name']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=Path, metavar="FOLDER", help="write single-node.md and .png")
    parser.add_argument("--gradients", action="store_true", help="TensorFlow's gradients, too")
    asked = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in ONE_THREAD):
        parser.error(f"set {', '.join(f'{name}=1' for name in ONE_THREAD)}: one thread of the BLAS")
    found = layers() | (gradients() if asked.gradients else {})
    made = table(found)
    print(made)
    if asked.docs:
        draw(found, asked.docs / PICTURE)
        parts = [f"![Throughput over one image at a time, by images at once]({PICTURE})", made]
        protocol = [*PROTOCOL, library()]
        papers.publish_measured(
            "single-node", asked.docs, claims(found), parts, protocol, played_by(1)
        )


if __name__ == "__main__":
    main()
