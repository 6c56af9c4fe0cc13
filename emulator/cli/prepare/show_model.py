"""`emulate model`: show a Keras model of one's own, and measure what a device needs for it."""

import math
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ..options import JSON_OPTION
from ..output import console, emit, tell_step
from .completed_words import paths

if TYPE_CHECKING:
    from ...costs.calibration import Calibration
    from ...learning.models import OwnModel
    from ...learning.models.own_model import MeasuredMemory


@click.command("model", short_help="Show a Keras model of your own, its memory and its time.")
@click.argument("reference", metavar="MODEL", shell_complete=paths)
@click.option("--loss", help="Loss: crossentropy (for classes), mse, or ./file.py:function.")
@click.option("--regression", is_flag=True, help="The model predicts numbers, not classes.")
@click.option(
    "--batch-size",
    type=click.IntRange(1, 4096),
    default=10,
    show_default=True,
    help="Mini-batch with which time and memory are measured.",
)
@JSON_OPTION
def model(
    reference: str, loss: str | None, regression: bool, batch_size: int, as_json: bool
) -> None:
    """Show the Keras model MODEL, a function of a Python file such as ./models.py:cnn.

    Shows the layers with their kinds, parameters and outputs, and measures the memory of a device
    and the time of a step on a core of this host, which takes seconds. `emulate check` counts with
    this memory from then on. The exit code is 2 if the model cannot be trained.

    \b
    emulate new lab --from made-up            write models.py, with three models
    emulate model ./models.py:cnn
    emulate model ./models.py:mobile --batch-size 32 --json
    """
    from ...codecs import Dense
    from ...costs.calibration import measure, store
    from ...costs.calibration.worker_memory import measure_memory
    from ...learning.learners.export import own_model
    from ...learning.models.own_model import LOSSES, source

    if loss is not None and loss not in LOSSES:
        loss = str(_reference(loss, "--loss"))
    made_by = source(str(_reference(reference, "MODEL")), loss, regression or loss == "mse")
    made = own_model(made_by)
    memory = measure_memory(made, batch_size, tell_step)
    time = measure(made.name, batch_size, Dense(), tell_step)
    store(time)
    emit(as_json, lambda: _plain(made, memory, time), lambda: _print(made, memory, time))


def _reference(text: str, name: str) -> Any:
    """Return the reference `text` with an absolute path. Raises a UsageError for another text."""
    from ...plugins.python_file import Reference, is_reference

    if not is_reference(text):
        raise click.UsageError(f"{name}: {text!r} names no function: write ./file.py:function")
    return Reference.read(text, os.getcwd())


def _plain(
    made: "OwnModel", memory: "MeasuredMemory | None", time: "Calibration"
) -> dict[str, Any]:
    return {
        **made.plain(),
        "parameters": made.layout.size,
        "kinds": made.layout.kinds,
        "memory": memory and {**asdict(memory), "bytes": memory.of(time.batch_size)},
        "step": float(time.step.lognormal[0]),
        "folder": str(made.folder),
    }


def _print(made: "OwnModel", memory: "MeasuredMemory | None", time: "Calibration") -> None:
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE)
    for name, justify in (("layer", "left"), ("type", "left"), ("kinds", "left")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    table.add_column("shapes")
    table.add_column("parameters", justify="right")
    table.add_column("outputs", justify="right")
    for number, layer in enumerate(made.layers, 1):
        variables = made.layout.part((number, number)).variables
        shapes = ", ".join("×".join(map(str, variable.shape)) for variable in variables)
        kinds = ", ".join(dict.fromkeys(variable.kind for variable in variables))
        numbers = f"{layer.parameters:,}", f"{layer.outputs:,}" if layer.outputs else "?"
        table.add_row(layer.name, layer.type, kinds, shapes, *numbers)
    console().print(table)
    click.echo(f"model        {made.title}: {made.task}")
    click.echo(f"parameters   {made.layout.size:,}: {_kinds(made.layout.kinds)}")
    click.echo(f"activations  {made.activations:,} numbers an example")
    click.echo(f"loss         {made.origin.loss}")
    if made.compiled:
        click.echo(f"compile      not used: {made.compiled}: a scenario names loss and optimizer")
    if made.noisy:
        click.echo("noise        seeded by device and step")
    click.echo(
        f"segments     {(made.unstaged and 'no: ' + made.unstaged) or 'each layer by itself'}"
    )
    if memory is not None:
        click.echo(
            f"memory       {_mega(memory.of(time.batch_size))} with a batch of {time.batch_size}: "
            f"{_mega(memory.fixed)}, and {_mega(memory.example)} an example"
        )
        click.echo(
            f"             {_mega(memory.codec)} more with a codec, and {_mega(memory.feedback)} "
            "more with error feedback"
        )
    click.echo(f"step         {time.step.lognormal[0]} of a core here, batch {time.batch_size}")


def _kinds(kinds: dict[str, int]) -> str:
    return ", ".join(f"{size:,} {kind}" for kind, size in kinds.items())


def _mega(size: int) -> str:
    digits = max(0, 1 - math.floor(math.log10(size / 1e6))) if size else 0
    return f"{size / 1e6:.{min(digits, 3)}f} MB"
