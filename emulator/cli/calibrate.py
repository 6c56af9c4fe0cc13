"""What a training step takes on this host's core, and so on every device: `calibrate`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import JSON_OPTION, SET

if TYPE_CHECKING:
    from ..calibration import Calibration
    from ..codecs import AnyCodec

MODEL, BATCH_SIZE, ALGORITHM = "mnist-cnn", 10, "adacomp"
"""What is measured where neither a scenario nor an option says."""

MOST = 60_000
"""Examples of the largest batch: no data set has more."""


@click.command(short_help="Measure what a training step takes on a core of this host.")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--model", metavar="NAME", help=f"The model to train; {MODEL} if not given.")
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Images in a mini-batch; {BATCH_SIZE} if not given.",
)
@SET
@JSON_OPTION
def calibrate(
    file: Path | None,
    model: str | None,
    batch_size: int | None,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """Measure anew what a worker takes on one core of this host, and keep it.

    A profile says `cpu: 10%`, a share of a core of this host. Containers find out what that means
    by running; virtual time takes it from the calibration: a step that takes a core 5 ms takes
    such a device 50 ms. A run in virtual time measures by itself what it finds no calibration for,
    so this is for measuring again, as on a machine that was busy the first time.

    With FILE, the scenario's model, batch size and codec are measured; without it, the codec is
    that of adacomp. It takes about eight seconds, and wants a machine that does nothing else. To
    play a run elsewhere with the same times, use the scenario.yaml in its folder: they stand there.

    \b
    emulate calibrate
    emulate calibrate --model digits-mlp --batch-size 32
    emulate calibrate scenarios/quickstart.yaml
    """
    if file is not None and (model or batch_size):
        raise click.UsageError("FILE says which model and batch size: give it or the options")
    if file is None and overrides:
        raise click.UsageError("--set overrides a key of FILE: name the scenario")
    from ..calibration import measure, store

    wanted = _of_file(file, overrides) if file else _of_options(model, batch_size)
    if wanted[1] > MOST:
        raise click.UsageError(f"a batch of {wanted[1]:,}: {MOST:,} is the most that is measured")
    found = measure(
        *wanted[:3],
        lambda step: click.echo(f"{step} ...", err=True),
        error_feedback=wanted[3],
    )
    place, shares = store(found), _shares(file.parent if file else Path())
    if as_json:
        click.echo(json.dumps(_plain(found, place, shares), indent=2))
    else:
        _print(found, place, shares)


def _of_file(file: Path, overrides: tuple[str, ...]) -> tuple[str, int, "AnyCodec", bool]:
    """The model, the batch size, the codec, and whether it has error feedback."""
    from ..scenario import load

    training = load(file, overrides).training
    return training.model, training.batch_size, training.codec, training.error_feedback


def _of_options(model: str | None, batch_size: int | None) -> tuple[str, int, "AnyCodec", bool]:
    from .. import models
    from ..scenario.algorithms import ALGORITHMS

    try:
        name = models.find(model or MODEL).name
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--model") from error
    algorithm = ALGORITHMS[ALGORITHM]
    return name, batch_size or BATCH_SIZE, algorithm.codec, algorithm.error_feedback


def _shares(folder: Path) -> dict[str, float]:
    """The device profiles that a scenario in the folder can name, and their shares of a core."""
    from ..scenario.reading.profiles import Library
    from ..scenario.reading.yaml_subset import read
    from ..units import Share

    shares = {}
    for name, file in Library(folder).names("devices").items():
        profile = read(file).data
        try:
            shares[name] = float(Share.parse(profile["cpu"]))
        except (TypeError, KeyError, ValueError):
            continue  # no quota, or a mistake that is told to who uses the profile
    return dict(sorted(shares.items(), key=lambda one: -one[1]))


def _plain(found: "Calibration", place: Path, shares: dict[str, float]) -> dict[str, Any]:
    median, boot = float(found.step.lognormal[0]), float(found.boot.fixed)
    devices = {
        name: {"cpu": share, "step": median / share, "boot": boot / share}
        for name, share in shares.items()
    }
    return {**found.plain(), "devices": devices, "file": str(place)}


def _print(found: "Calibration", place: Path, shares: dict[str, float]) -> None:
    from rich.text import Text

    from ..units import Share
    from .tables import console, table

    def on(share: float) -> list[str]:
        return [_time(time / share) for time in (float(median), float(found.boot.fixed))]

    (median, sigma), out = found.step.lognormal, console()
    processor = f"{found.host} ({found.processor})"
    out.print(
        Text(found.model, "bold"),
        f", batch {found.batch_size}, {found.codec}, on {processor}",
        sep="",
    )
    out.print(
        f"step  {median} of a core, sigma {sigma:g}: model in, gradient, encoding, update out"
    )
    out.print(f"boot  {found.boot.fixed} of a core: from the start of a worker to its hello")
    out.print(
        f"serve {found.serve.fixed} of a core: what an update and its model take the server\n"
    )
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
    out.print(rows, f"\nkept in {place}", sep="\n", soft_wrap=True)


def _time(seconds: float) -> str:
    from ..units import Seconds

    return str(Seconds(float(f"{seconds:.3g}")))
