"""`emulate calibrate`: measure the time of a training step on a core of this host."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..options import JSON_OPTION, OPTIONAL_FILE, SET
from ..output import console, emit, table, tell_step
from .completed_words import values_of

if TYPE_CHECKING:
    from ...codecs import AnyCodec
    from ...costs.calibration import Calibration, LayerSeconds

MODEL, BATCH_SIZE, ALGORITHM = "mnist-cnn", 10, "adacomp"
"""Model, batch size and algorithm to measure without a scenario or options."""

MOST_EXAMPLES = 60_000
"""Largest batch size: no data set has more examples."""


@click.command(short_help="Measure the time of a training step on a core of this host.")
@OPTIONAL_FILE
@click.option(
    "--model",
    metavar="NAME",
    shell_complete=values_of("training.model"),
    help=f"Model to train; {MODEL} if not given.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Examples in a mini-batch; {BATCH_SIZE} if not given.",
)
@click.option(
    "--layers",
    is_flag=True,
    help="Measure each layer too, as for a FILE with a training.schedule that cuts the model.",
)
@SET
@JSON_OPTION
def calibrate(
    file: Path | None,
    model: str | None,
    batch_size: int | None,
    layers: bool,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """Measure the computing times of a worker on a core of this host, and keep the results.

    A device profile gives a share of a core of this host, for example `cpu: 10%`. In containers
    the share takes effect by itself. Virtual time needs the calibration: a step of 5 ms on a whole
    core takes a device with 10 % of a core 50 ms. A run in virtual time calibrates by itself if
    there is no calibration yet, so this command is for measuring again, for example if the machine
    was busy the first time.

    With FILE, the scenario's model, batch size and codec are measured, with compute groups every
    size of mini-batch that they deal to their devices; without FILE, the codec of adacomp. The
    measurement takes about eight seconds for each size and needs an idle machine. To play a run
    elsewhere with the same times, use the scenario.yaml in its run folder, which holds them.

    \b
    emulate calibrate
    emulate calibrate --model digits-mlp --batch-size 32
    emulate calibrate lab.yaml
    """
    if file is not None and (model or batch_size):
        raise click.UsageError(
            "FILE names model and batch size: give FILE or the options, not both"
        )
    if file is None and overrides:
        raise click.UsageError("--set overrides a key of FILE: give FILE too")
    from ...costs.calibration import measure, store
    from ...costs.calibration.measuring import measure_layers
    from ...costs.calibration.record import store_layers

    wanted = _of_file(file, overrides) if file else _of_options(model, batch_size)
    if wanted.batch_size > MOST_EXAMPLES:
        raise click.UsageError(
            f"a batch of {wanted.batch_size:,} examples is too large: at most {MOST_EXAMPLES:,} "
            "are allowed"
        )
    measured, *others = (
        measure(wanted.model, size, wanted.codec, tell_step, error_feedback=wanted.error_feedback)
        for size in (wanted.batch_size, *wanted.smaller)
    )
    for other in others:
        store(other)
    kept, shares = store(measured), _shares(file.parent if file else Path())
    by_layer = None
    if layers or wanted.cut:
        by_layer = measure_layers(wanted.model, wanted.batch_size, tell_step)
        store_layers(by_layer)
    content = _plain(measured, by_layer, kept, shares)
    if others:
        content["dealt"] = [other.plain() for other in others]

    def show() -> None:
        _print(measured, kept, shares)
        for other in others:
            seconds = other.step.lognormal[0]
            click.echo(f"batch {other.batch_size}: a step takes {seconds} of a core")
        if by_layer:
            _print_layers(by_layer)

    emit(as_json, content, show)


class _Wanted(NamedTuple):
    """The worker to measure."""

    model: str
    batch_size: int
    codec: "AnyCodec"
    error_feedback: bool
    cut: bool
    """Whether a schedule cuts the model into segments of layers."""
    smaller: tuple[int, ...] = ()
    """Other sizes of mini-batches that compute groups deal to devices."""


def _of_file(file: Path, overrides: tuple[str, ...]) -> _Wanted:
    """Return the worker of the scenario in `file`."""
    from ...costs.compute_groups import dealt_sizes
    from ...scenario import load
    from ...schedules import Sequential

    scenario = load(file, overrides)
    training, (largest, *smaller) = scenario.training, dealt_sizes(scenario)
    return _Wanted(
        training.trainable,
        largest,
        training.codec,
        training.error_feedback,
        training.cutting != Sequential(),
        tuple(smaller),
    )


def _of_options(model: str | None, batch_size: int | None) -> _Wanted:
    from ...learning import models
    from ...scenario.algorithms import ALGORITHMS

    try:
        name = models.find(model or MODEL).name
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--model") from error
    algorithm = ALGORITHMS[ALGORITHM]
    size = batch_size or BATCH_SIZE
    return _Wanted(name, size, algorithm.codec, algorithm.error_feedback, cut=False)


def _shares(folder: Path) -> dict[str, float]:
    """Return the CPU shares of the device profiles that a scenario in `folder` can use, the largest
    first; profiles without a share are left out.
    """
    from ...scenario.reading.profiles import Library
    from ...scenario.reading.yaml_subset import read
    from ...units import Share

    shares = {}
    for name, file in Library(folder).names("devices").items():
        profile = read(file).data
        try:
            shares[name] = float(Share.parse(profile["cpu"]))
        except (TypeError, KeyError, ValueError):
            continue  # no quota, or a mistake, which a scenario that uses the profile reports
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def _plain(
    measured: "Calibration", by_layer: "LayerSeconds | None", kept: Path, shares: dict[str, float]
) -> dict[str, Any]:
    median, boot = float(measured.step.lognormal[0]), float(measured.boot.fixed)
    devices = {
        name: {"cpu": share, "step": median / share, "boot": boot / share}
        for name, share in shares.items()
    }
    passes = {"forward": by_layer.forward, "backward": by_layer.backward} if by_layer else None
    layers = {"layers": passes} if passes else {}
    return {**measured.plain(), **layers, "devices": devices, "file": str(kept)}


def _print(measured: "Calibration", kept: Path, shares: dict[str, float]) -> None:
    from rich.text import Text

    from ...units import Share, about

    def on(share: float) -> list[str]:
        return [about(time / share) for time in (float(median), float(measured.boot.fixed))]

    (median, sigma), out = measured.step.lognormal, console()
    processor = f"{measured.host} ({measured.processor})"
    out.print(
        Text(measured.model, "bold"),
        f", batch {measured.batch_size}, {measured.codec}, on {processor}",
        sep="",
    )
    out.print(
        f"step  {median} of a core, sigma {sigma:g}: model in, gradient, encoding, update out"
    )
    out.print(f"boot  {measured.boot.fixed} of a core: from the start of a worker to its hello")
    out.print(f"serve {measured.serve.fixed} of a core: an update and its model, at the server\n")
    rows = table(
        "device",
        "cpu",
        "a step takes",
        "a boot takes",
        title="with a profile's quota, in the long run",
    )
    rows.add_row("(no profile)", "no quota", *on(1.0))
    for name, share in shares.items():
        rows.add_row(name, str(Share(share)), *on(share))
    out.print(rows, f"\nkept in {kept}", sep="\n", soft_wrap=True)


def _print_layers(by_layer: "LayerSeconds") -> None:
    from ...units import about

    rows = table("layer", "forward", "backward", title="layers, on a whole core")
    passes = zip(by_layer.forward, by_layer.backward, strict=True)
    for number, (forward, backward) in enumerate(passes, 1):
        rows.add_row(str(number), about(forward), about(backward))
    rows.add_row("all", about(sum(by_layer.forward)), about(sum(by_layer.backward)))
    console().print(rows)
