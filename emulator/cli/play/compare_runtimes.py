"""The comparison of runtimes: a scenario played in containers and in virtual time."""

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from ...machine.made_files import filling
from ..options import ON, Printed
from ..output import emit, enduring, tell_step, warn
from ..read.analysis_package import analysis
from ..read.pages import as_print, drawable, page_files, runs_readable, short
from .run import EXIT_CODES, watched

if TYPE_CHECKING:
    from ...costs.calibration import Calibration
    from ...costs.calibration.step_meter import StepMeter
    from ...scenario import Scenario

UNSTEADY = 0.1
"""Largest relative change of the step time during the containers' run that needs no warning."""


@enduring()
def agree(
    file: Path,
    overrides: tuple[str, ...],
    out: Path | None,
    runs: Path,
    prints: Printed,
    *,
    as_json: bool,
) -> None:
    """Play the scenario in `file` in containers and in virtual time, and print their agreement.

    Both run folders stay in `runs`. If a run fails, the process ends with the run's exit code.
    Without `tcp` in the scenario virtual time models the congestion control that the containers
    had. Unless the scenario sets its computing times, a step is timed before and after the
    containers' run, to see whether the host's speed changed, and during the run, on the busy
    host: virtual time uses the measurement during the run.
    """
    from ...checks.preflight import preflight, refuse, warnings
    from ...runtimes.docker.play_containers import require
    from ...scenario import load

    scenario = load(file, overrides)
    refuse(why for on in ("docker", "virtual") for why in preflight(scenario, on).refusals)
    require()
    warn(text for on in ("docker", "virtual") for text in warnings(scenario, on, runs))
    before = _calibrate(scenario) if scenario.virtual.open else None
    with _alongside(scenario, before.median) if before else nullcontext() as meter:
        folders = {"docker": _play(scenario, "docker", runs, as_json=as_json)}
    speed: dict[str, float] = {}
    if before and meter:
        after = _calibrate(scenario)
        meanwhile = meter.refined(before.mean_with(after))
        speed = {
            "step_before_s": before.median,
            "step_meanwhile_s": meanwhile.median,
            "step_after_s": after.median,
        }
        scenario = _at(scenario, meanwhile)
        _warn(before.median, after.median)
    scenario = _with_control(scenario, folders["docker"])
    folders["virtual"] = _play(scenario, "virtual", runs, as_json=as_json)
    _tell(folders, speed, out, prints, as_json=as_json)


def _play(scenario: "Scenario", on: str, runs: Path, *, as_json: bool) -> Path:
    click.echo(f"{scenario.name} in {ON[on]}", err=as_json)
    folder, summary = watched(scenario, on, runs, to_stderr=as_json)
    if summary["outcome"] != "success":
        click.echo(f"{summary['outcome']}: nothing to compare: {short(folder)}", err=True)
        sys.exit(EXIT_CODES.get(summary["outcome"], 1) or 1)
    return folder


def _calibrate(scenario: "Scenario") -> "Calibration":
    """Measure the scenario's computing times again: the speed of a host changes by the minute.

    Of devices with several sizes of mini-batches the largest is measured.
    """
    from ...costs.calibration import measure
    from ...costs.compute_groups import dealt_sizes

    training = scenario.training
    return measure(
        training.trainable,
        dealt_sizes(scenario)[0],
        training.codec,
        tell_step,
        error_feedback=training.error_feedback,
    )


def _alongside(scenario: "Scenario", step: float) -> AbstractContextManager["StepMeter"]:
    from ...costs.calibration import alongside
    from ...costs.compute_groups import dealt_sizes

    training = scenario.training
    return alongside(
        training.trainable,
        dealt_sizes(scenario)[0],
        training.codec,
        step,
        error_feedback=training.error_feedback,
    )


def _at(scenario: "Scenario", speed: "Calibration") -> "Scenario":
    """Return `scenario` with the calibrated times `speed` in place of missing ones."""
    from ...costs.computing_times import timed

    return timed(scenario, [speed])


def _with_control(scenario: "Scenario", containers: Path) -> "Scenario":
    """Return `scenario` with the congestion control of the run in the folder `containers`.

    A control that no scenario can choose leaves `scenario` as it is.
    """
    from ...scenario.sections.run_sections import Congestion, TcpSection

    served = json.loads((containers / "manifest.json").read_text(encoding="utf-8")).get("tcp")
    if scenario.tcp is not None or not scenario.virtual.tcp or served not in get_args(Congestion):
        return scenario
    return scenario.model_copy(update={"tcp": TcpSection(congestion=served)})


def _warn(before: float, after: float) -> None:
    if abs(after / before - 1) > UNSTEADY:
        times = f"{1e3 * before:.2f} ms of CPU before it and {1e3 * after:.2f} ms after it"
        click.echo(
            f"the host's speed changed during the run: one training step took {times}", err=True
        )


def _tell(
    folders: dict[str, Path],
    speed: dict[str, float],
    out: Path | None,
    prints: Printed,
    *,
    as_json: bool,
) -> None:
    agreement, compare, read = (
        analysis("pages.agreement"),
        analysis("pages.compare"),
        analysis().read,
    )
    with runs_readable():
        docker, virtual = read(folders["docker"]), read(folders["virtual"])
        table = agreement.agreement(docker, virtual)
        drawn = None
        if out:
            both = [docker, virtual]
            with drawable(out), filling(out, page_files(prints.formats)):
                agreed = agreement.readable(table)
                drawn = compare.compare_html(both, out, agreed, as_print(prints))

    def show() -> None:
        click.echo(f"\n{agreement.text(table)}\n")
        for on, folder in folders.items():
            click.echo(f"{on:<12} {short(folder)}")
        if drawn:
            click.echo(f"drawn in     {short(drawn)}")

    played = {on: str(folder) for on, folder in folders.items()}
    emit(as_json, {**played, **speed, "agreement": agreement.rows(table)}, show)
