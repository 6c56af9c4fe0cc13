"""`emulate schedule`: plan the segments of pulls and pushes by every schedule, without a run."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import suggestion
from ..options import COSTS_OPTION, FIGURE_OPTION, JSON_OPTION, OPTIONAL_FILE, SET
from ..output import console, emit, tell_step
from ..prepare.completed_words import group_names
from ..read.analysis_package import analysis
from ..read.pages import check_figure, figure_drawn

if TYPE_CHECKING:
    from ...scenario import Scenario
    from ...scenario.sections.devices import Group
    from .planned_schedules import PlannedSchedules

MOST_DEVICES = 20
"""Largest number of devices that one chart shows."""


@click.command(short_help="Plan pulls and pushes by layers, by every schedule, without a run.")
@OPTIONAL_FILE
@SET
@click.option(
    "--device",
    metavar="NAME",
    shell_complete=group_names,
    help="Plan for this device or group only.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    metavar="N",
    help="Plan for mini-batches of N examples; a virtual.step of the file is scaled in proportion.",
)
@COSTS_OPTION(
    help="Plan for these costs instead of the scenario's; FILE may then be left out.",
)
@JSON_OPTION
@FIGURE_OPTION(
    help="Draw a Gantt chart of every plan into this file.",
)
def schedule(
    file: Path | None,
    overrides: tuple[str, ...],
    device: str | None,
    batch_size: int | None,
    costs: Path | None,
    as_json: bool,
    figure: Path | None,
) -> None:
    """Plan how the devices of the scenario FILE pull and push a model in segments of layers.

    For each device (once for the equal devices of a group) and each schedule the table shows the
    segments in the order in which they travel, T_f from the first bit of the pull to the end of the
    forward pass, T_b from the begin of the backward pass to the last bit of the push, their sum,
    how much of the transfer is hidden behind computing, and the speed-up over `sequential`. Plans
    count a device's link and the server's without other traffic. Computing times that the file does
    not give come from this host's calibration.

    COSTS.json gives the seconds of each layer instead, layer 1 at the input first, and the seconds
    for which each message occupies the link before its layers:

    \b
    {"setup": 2, "pull": [1, 1, 2], "forward": [1, 3, 1], "backward": [2, 6, 2], "push": [1, 1, 2]}

    Times are numbers or fractions as text, "7/3", and are planned exactly. `setup` may differ by
    direction: {"pull": 2, "push": 3}. In JSON output a segment is [first, last] or [layer], times
    are in seconds, and a fraction that is no decimal number is a text again.

    \b
    emulate schedule lab.yaml --set training.algorithm=asgd
    emulate schedule lab.yaml --device fiber --figure plan.png
    emulate schedule --costs costs.json --json
    """
    if file is None and costs is None:
        raise click.UsageError("give FILE, --costs, or both")
    if file is None and (overrides or device or batch_size):
        raise click.UsageError("--set, --device and --batch-size need FILE")
    check_figure(figure, "a chart")
    planned = _planned(file, overrides, device, batch_size, costs)
    if figure is not None and len(planned) > MOST_DEVICES:
        raise click.UsageError(
            f"a chart shows {MOST_DEVICES} devices at most, not {len(planned)}: choose one with "
            "--device"
        )
    content = {"devices": [plans.plain() for plans in planned]}
    emit(as_json, content, lambda: _print(planned), ensure_ascii=False)
    if figure is not None:
        with figure_drawn(figure, to_stderr=as_json):
            _draw(planned, figure)


def _planned(
    file: Path | None,
    overrides: tuple[str, ...],
    device: str | None,
    batch_size: int | None,
    costs: Path | None,
) -> "list[PlannedSchedules]":
    from .costs_file import read_costs
    from .planned_schedules import PlannedSchedules

    given = read_costs(costs) if costs else None
    if file is None:
        assert costs is not None and given is not None
        return [PlannedSchedules(costs.stem, given)]
    scenario = _load(file, overrides)
    groups = _chosen(scenario, device)
    if given is not None:
        return [PlannedSchedules(name, given) for name in groups]
    from ...costs.compute_groups import dealt_batches
    from ...costs.exchange import update_sizes
    from ...costs.layer_costs import expected_costs

    scenario = _timed(scenario, batch_size)
    layout = scenario.training.layout
    sizes = update_sizes(scenario.training.codec, layout)
    batches = dealt_batches(scenario)  # a row shows a group's first device
    return [
        PlannedSchedules(name, costs.seconds)
        for name, group in groups.items()
        for examples in [batches.get(group.names[0])]
        for costs in [expected_costs(scenario, group, layout, sizes, examples)]
    ]


def _load(file: Path, overrides: tuple[str, ...]) -> "Scenario":
    """Return the scenario in `file`. Raises ScenarioError where updates cannot be cut."""
    from ...scenario import load
    from ...scenario.reading.typed_values import Override
    from ...schedules import Sequential

    scenario = load(file, overrides)
    if scenario.training.cutting == Sequential():
        # the checks of a schedule that cuts name the pairs that cannot be cut, with the reasons
        load(file, (*overrides, Override("training.schedule=dynacomm", "emulate schedule")))
    return scenario


def _chosen(scenario: "Scenario", device: str | None) -> "dict[str, Group]":
    """Return the groups by name, or the group of `device` under that name."""
    if device is None:
        return {group.name: group for group in scenario.devices}
    for group in scenario.devices:
        if device in (group.name, *group.names):
            return {device: group}
    known = [name for group in scenario.devices for name in (group.name, *group.names)]
    names = ", ".join(group.name for group in scenario.devices)
    hint = suggestion(device, known) or f": there are {names}"
    raise click.BadParameter(f"{device!r} is no device{hint}", param_hint="--device")


def _timed(scenario: "Scenario", batch_size: int | None) -> "Scenario":
    """Return `scenario` with `batch_size`, a step and the layers' shares of the step."""
    from ...costs.computing_times import with_layers
    from ...runs.conductor import ProgressView
    from ...runtimes.virtual.play_virtual import resolve
    from ...units import Seconds
    from ...world.laws import Fixed

    training, virtual = scenario.training, scenario.virtual
    if batch_size is not None:
        if virtual.step is not None:
            scaled = virtual.step.mean * batch_size / training.batch_size
            virtual = virtual.model_copy(update={"step": Fixed(Seconds(scaled))})
        training = training.model_copy(update={"batch_size": batch_size})
    if virtual.step is not None:  # a plan has no start-up, which nothing need measure
        virtual = virtual.model_copy(update={"boot": virtual.boot or Fixed(Seconds(0))})
    view = ProgressView(tell_step)
    changed = scenario.model_copy(update={"training": training, "virtual": virtual})
    return with_layers(resolve(changed, view), view.progress)


def _draw(planned: "list[PlannedSchedules]", figure: Path) -> None:
    gantt = analysis("pictures.gantt")
    gantt.png({plans.device: plans.gantt_rows(gantt) for plans in planned}, figure)


def _print(planned: "list[PlannedSchedules]") -> None:
    from rich.text import Text

    out = console()
    for plans in planned:
        out.print(Text(plans.title, "bold"), soft_wrap=True)
        out.print(plans.shown(), "", sep="\n")
