"""The figure of a soak: memory and descriptors over time."""

from pathlib import Path

from matplotlib.figure import Figure

from .judgement import warm_up
from .soaking import Soak


def draw(soak: Soak, file: Path) -> None:
    """Draw the samples of `soak` into the PNG `file`."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    memory, descriptors = figure.subplots(2, 1, sharex=True)
    for name, samples in soak.samples.items():
        alone = not name.startswith("supervisor")
        style = {"label": name} if alone else {"color": "0.6", "linewidth": 0.5}
        if name == "supervisor of server":
            number = sum(each.startswith("supervisor") for each in soak.samples)
            style["label"] = f"{number} supervisors"
        times = [sample.at / 60 for sample in samples]
        memory.plot(times, [sample.memory / 1e6 for sample in samples], **style)
        descriptors.plot(times, [sample.descriptors for sample in samples], **style)
    for axes in (memory, descriptors):
        axes.axvline(warm_up(samples) / 60, color="0.3", linestyle=":")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    memory.set_ylabel("anonymous memory [MB]")
    memory.legend(loc="center right")
    descriptors.set_ylabel("open descriptors,\nwithout connections")
    descriptors.set_xlabel("time [min]; the dotted line ends the warm-up")
    figure.savefig(file, dpi=110)
