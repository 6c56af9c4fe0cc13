"""`emulate run`: play a scenario in containers or in virtual time."""

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ...runs.cancel import canceling
from ...runs.folder import RunFolder
from ..options import (
    JSON_OPTION,
    REPORT_OPTION,
    RUNS_OPTION,
    RUNTIME_OPTION,
    RUNTIMES,
    SCENARIO,
    SHAPING_OPTION,
    SWARM,
    ScenarioFile,
)
from ..output import console, emit, enduring, warn
from ..prepare.completed_words import run_names
from ..read.pages import ended, page, short

if TYPE_CHECKING:
    from ...costs.host_limits import HostTables
    from ...machine.host import Host
    from ...runs.replay import Replay
    from ...scenario import Scenario
    from ...shaping.features import Delay

MOST_METRICS = 8
"""Largest number of metrics that the last lines have."""

MOST_LEFT_OUT = 5
"""Largest number of devices left out of steps that the last lines name."""

EXIT_CODES = {"success": 0, "stopped": 0, "canceled": 130}


@click.command(short_help="Play a scenario, in containers or in virtual time.")
@SCENARIO
@RUNTIME_OPTION(
    help="Runtime: `docker` plays the scenario in containers and in real time; `swarm` on all "
    "hosts of a Docker Swarm; `virtual` in virtual time, which is repeatable and "
    "needs neither Docker nor root.",
)
@click.option(
    "--replay",
    metavar="RUN",
    shell_complete=run_names,
    help="Replay the faults that RUN realised, at their times, in place of the scenario's faults; "
    "RUN is a run's folder, its id, or a scenario (its latest run).",
)
@SHAPING_OPTION
@click.option(
    "--tensorboard",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[FOLDER]",
    help="Write events for TensorBoard while the run goes on: into FOLDER/SCENARIO/RUN, or into "
    "tensorboard/ of the run's folder if no FOLDER follows. Give FILE before it.",
)
@RUNS_OPTION
@REPORT_OPTION
@JSON_OPTION
@enduring()
def run(
    file: ScenarioFile,
    on: str,
    replay: str | None,
    shaping: "Delay | None",
    tensorboard: str | None,
    runs: Path,
    report: bool,
    as_json: bool,
) -> None:
    """Play the scenario FILE, and write the results into a run folder.

    In containers a run takes its emulated time in real time. In virtual time a run takes only the
    time to compute its gradients, gives the same bytes again with the same seed, and can have more
    devices than this host could carry in containers.

    The warnings of `emulate check` come first, on standard error.

    Ctrl-C ends the run, keeps its results so far and removes its containers; so does closing the
    terminal, except under nohup. The exit code is 0 if a stop condition was met or `emulate stop`
    ended the run, 130 if the run was interrupted, 2 if the file has mistakes, and 1 in all other
    cases, for example if no update was ever applied.

    \b
    emulate run lab.yaml
    emulate run lab.yaml --on virtual
    emulate run lab.yaml --set seed=2 --set stop.updates=500
    emulate run lab.yaml --on virtual --replay flaky-homes
    emulate run lab.yaml --on swarm
    """
    from ...checks.preflight import warnings
    from ...runs.replay import read_replay

    scenario = file.load()
    replayed = None if replay is None else read_replay(ended(replay, runs))
    played = scenario if replayed is None else replayed.of(scenario)
    warn(warnings(played, on, runs, capacity(on), tables(on, played)))
    folder, summary = watched(
        *(scenario, on, runs),
        to_stderr=as_json,
        replay=replayed,
        shaping=shaping,
        tensorboard=tensorboard,
    )
    conclude(folder, summary, as_json=as_json, report=report)


def conclude(folder: Path, summary: dict[str, Any], *, as_json: bool, report: bool) -> NoReturn:
    """Print the `summary` of the run in `folder`, draw its report if asked, and exit."""
    emit(as_json, {"run": str(folder), **summary}, lambda: tell(folder, summary))
    if report:
        page(folder, to_stderr=as_json)
    sys.exit(EXIT_CODES.get(summary["outcome"], 1))


def watched(
    scenario: "Scenario",
    on: str,
    runs: Path,
    *,
    to_stderr: bool,
    replay: "Replay | None" = None,
    shaping: "Delay | None" = None,
    tensorboard: str | None = None,
) -> tuple[Path, dict[str, Any]]:
    """Play `scenario` on the runtime `on` and show it; return the run's folder and its summary.

    With `replay` its faults strike instead of the scenario's; `shaping` forces the means of delays.
    `tensorboard` is the folder for events; None for no events, empty for the run's own folder.
    Raises Canceled if a signal comes before the run has a folder; later it is the run's outcome.
    """
    from ...scenario.unkept import unkept

    play = player(on, shaping)
    given = {} if replay is None else {"replay": replay}
    for ignored in unkept(scenario, on):
        click.echo(f"not kept in {RUNTIMES[on]}: {ignored}", err=to_stderr)
    shown = show(scenario, on, to_stderr=to_stderr)
    if tensorboard is not None:
        shown = _with_events(shown, scenario.name, runs, tensorboard)
    with shown as view, canceling():
        played: tuple[Path, dict[str, Any]] = play(scenario, runs, view, **given)
    return played


def _with_events(view: Any, scenario: str, runs: Path, tensorboard: str) -> Any:
    """Return `view` with events for TensorBoard; make their folder, or raise HostError."""
    from ..watching.tensorboard_view import TensorboardView, require_folder

    out = Path(tensorboard) if tensorboard else None
    if out is not None:
        require_folder(out)
    return TensorboardView(view, scenario, runs, out)


def show(scenario: "Scenario", on: str, *, to_stderr: bool) -> Any:
    """Return the context of a view of a run of `scenario` on the runtime `on`."""
    from ..watching.progress import Progress
    from ..watching.run_views import LiveRunView, PlainRunView

    names = tuple(device.name for device in scenario.nodes)
    limit = None if scenario.stop.time is None else float(scenario.stop.time)
    later = on != "virtual" and scenario.evaluate.later
    work, goal = scenario.workload is not None, scenario.stop.updates
    progress = Progress(names, goal=goal, limit=limit, later=later, workload=work)
    out = console(stderr=to_stderr)
    if out.is_terminal:
        return LiveRunView(progress, out, scenario.name)
    return PlainRunView(progress, out)


def player(on: str, shaping: "Delay | None" = None) -> Any:
    """Return the function that plays a scenario on the runtime `on`.

    `shaping` forces the containers' means of delays. Raises ValueError unless `on` is a key of
    `RUNTIMES`, and a UsageError for a `shaping` in virtual time.
    """
    if on not in RUNTIMES:
        raise ValueError(f"on={on!r} is not {' or '.join(map(repr, RUNTIMES))}")
    if on == "virtual":
        if shaping:
            raise click.UsageError(f"--shaping {shaping} is for containers: there are none here")
        from ...runtimes.virtual.play_virtual import play
    elif on == SWARM:
        from ...runtimes.swarm.play_swarm import play
    else:
        from ...runtimes.docker.play_containers import play  # type: ignore[assignment]
    return partial(play, shaping=shaping) if shaping else play  # type: ignore[call-arg]


def capacity(on: str) -> "Host | None":
    """Return what the hosts of the runtime `on` have together; None for this host alone."""
    if on != SWARM:
        return None
    from ...runtimes.swarm.play_swarm import SwarmEngines

    return SwarmEngines().capacity()


def tables(on: str, scenario: "Scenario") -> "Sequence[HostTables] | None":
    """Return the tables of the hosts of the runtime `on` that can be read before a run, each with
    its part of `scenario`; None for this host alone."""
    if on != SWARM:
        return None
    from ...runtimes.swarm.play_swarm import SwarmEngines

    return SwarmEngines().tables(scenario)


def tell(folder: Path, summary: dict[str, Any]) -> None:
    """Print the `summary` of the run in `folder`."""
    from ...log.lines import read_timeline
    from ...log.targets import costs, percent
    from ...runs.results import to_measure
    from ..watching.progress import ways

    def line(label: str, value: str) -> None:
        click.echo(f"{label:<12} {value}")

    why = ": ".join(filter(None, (summary["stop"], summary["detail"])))
    line("outcome", summary["outcome"] + (f" ({why})" if why != summary["outcome"] else ""))
    if summary["final_accuracy"] is not None:
        best = summary["best_accuracy"]
        line("accuracy", f"{summary['final_accuracy']:.2%} (best {best:.2%})")
    if "final_error" in summary:
        best, error = summary["best_error"], summary["final_error"]
        line("error", f"{error:.4g} (best {best:.4g}), mean absolute")
    for target in summary["targets"]:
        if target["updates"] is not None:
            spent = f"{target['updates']} updates, {target['time']:.1f} s"
            both = costs(target)["both"]
            travelled = ways(target["bytes"], target["pulled"], both)
            line(f"to {percent(target['accuracy'])} %", f"{spent}, {travelled}")
    if "metrics" in summary:
        for label, value in _of_workload(summary):
            line(label, value)
    dilation = summary["fidelity"].get("dilation")
    slower = f" of emulated time, each played in {dilation:g} s" if (dilation or 1) != 1 else ""
    if "metrics" not in summary:
        line("updates", f"{summary['updates']} in {summary['duration_s']:.1f} s{slower}")
    for label, value in _traffic(summary):
        line(label, value)
    planned = sum(timed.begins for timed in read_timeline(folder / "timeline.jsonl"))
    due = f"{summary['faults_planned']} due by the end, {planned} on the timeline"
    named = {"faults_overlapped": "under another fault", "faults_drawn": "drawn by devices"}
    named["battery_outages"] = "by empty batteries"
    more = "".join(f", {summary[key]} {words}" for key, words in named.items() if key in summary)
    line("faults", f"{summary['faults_realised']} ({due}{more})")
    for end in summary["exits"]:
        back = "; its supervisor starts it again" if end.get("returns") else ""
        line("WARNING", f"{end['node']} ended unasked at {end['at']:.1f} s: {end['reason']}{back}")
    for late in _left_out(summary):
        line("left out", late)
    for reason in summary["fidelity"]["reasons"]:
        line("WARNING", f"the host did not keep up: {reason}")
    for why in summary["left"]:
        line("WARNING", why)
    if note := summary.get("model", {}).get("note"):
        line("model", note)
    if summary.get("resumable"):
        again = f"emulate resume {folder.name.rpartition('-')[2]}"
        line("resume", f"`{again}` goes on with this run from the server's state")
    if waits := to_measure(RunFolder(folder, folder.name.rpartition("-")[2])):
        line("unmeasured", waits)
    line("run", str(short(folder)))


def _of_workload(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield lines on the metrics of a workload's server and driver, its targets, and traffic."""
    from ...log.metric_sums import MAIN
    from ...log.targets import percent
    from ..watching.progress import amount

    for node in MAIN:
        for name, own in list(summary["metrics"].get(node, {}).items())[:MOST_METRICS]:
            if (node, name) != (MAIN[0], "accuracy"):
                yield name, f"{own['last']:.4g} ({own['least']:.4g} to {own['most']:.4g}, {node})"
    up, down = summary["server_rx_bytes"], summary["server_tx_bytes"]
    for target in summary["targets"]:
        if target["time"] is not None:
            both = amount(target["bytes"] + target["pulled"])
            yield f"to {percent(target['accuracy'])} %", f"{target['time']:.1f} s, {both} both"
    yield "lasted", f"{summary['duration_s']:.1f} s"
    yield "traffic", f"{amount(up)} to the server, {amount(down)} from it"


def _left_out(summary: dict[str, Any]) -> Iterator[str]:
    """Yield lines on the devices that steps were made without, those with the most steps first."""
    rows = summary.get("left_out", [])
    for row in rows[:MOST_LEFT_OUT]:
        yield f"{row['node']}: {row['steps']} of {row['of']} steps, later than `patience`"
    more = len(rows) - MOST_LEFT_OUT + summary.get("left_out_unlisted", 0)
    if more > 0:
        yield f"{more:,} more devices, see `left_out` in summary.json"


def _traffic(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield lines on the bytes of each direction and of both, beside those of dense messages."""
    from ..watching.progress import amount

    pushed, pulled = summary["push_bytes"]["total"], summary["pull_bytes"]
    dense, models = summary["dense_push_bytes"], summary["dense_pull_bytes"]
    crossed = summary.get("activation_bytes") or {"up": 0, "down": 0}
    between = crossed["up"] + crossed["down"]
    if summary["compression_ratio"]:
        ratio = f"{summary['compression_ratio']:.1f}x less than dense pushes ({amount(dense)})"
        yield "pushed", f"{amount(pushed)}, {ratio}"
    if pulled:
        yield "pulled", f"{amount(pulled)}, as whole models {amount(models)}"
    if between:
        yield "activations", f"{amount(crossed['up'])} up, {amount(crossed['down'])} down"
    if summary["traffic_ratio"]:
        whole = amount(dense + models + between)
        ratio = f"{summary['traffic_ratio']:.2f}x less than dense in both directions ({whole})"
        yield "both", f"{amount(pushed + pulled + between)}, {ratio}"
