"""`emulate tune`: choose compute groups, momentum and learning rate by Omnivore's Algorithm 1."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..options import (
    JSON_OPTION,
    ON_OPTION,
    OUT_OPTION,
    RUNS_OPTION,
    SCENARIO,
    SHAPING_OPTION,
    PlayedBy,
    ScenarioFile,
    played_by,
)
from ..output import console, emit, enduring, table, warn
from ..read.analysis_package import analysis
from ..read.pages import drawable, short

if TYPE_CHECKING:
    from ...scenario import Scenario
    from ...shaping.features import Delay
    from ...sweeps.players import Players
    from ...sweeps.sweep_folder import SweepFolder
    from ...sweeps.tuning import Tuned

_BASELINES = ("fixed-sync", "fixed-async", "tuned-sync", "tuned-async", "exhaustive")
"""Names of baselines as in `sweeps/tuning/comparison.py`, without an import of everything
below; a test compares."""


def _length(context: click.Context, option: click.Parameter, text: str | None) -> Any:
    """Read the text of an option as a length of training."""
    from ...sweeps.tuning.tune_options import Length

    if text is None:
        return None
    try:
        return Length.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _rates(context: click.Context, option: click.Parameter, text: str) -> tuple[float, ...]:
    """Read learning rates, separated by commas."""
    try:
        rates = tuple(sorted({float(part) for part in text.split(",")}))
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: write numbers, as 0.1,0.01") from error
    if not all(0 < rate < float("inf") for rate in rates):
        raise click.BadParameter(f"{text!r}: a learning rate is above zero")
    return rates


@click.command(short_help="Choose compute groups, momentum and learning rate by short probes.")
@SCENARIO
@ON_OPTION(
    default="virtual",
    help="Runtime of the probes: `virtual` plays them side by side in virtual time, `docker` one "
    "after the other in containers.",
)
@SHAPING_OPTION
@click.option(
    "--probe",
    default="50updates",
    show_default=True,
    callback=_length,
    metavar="LENGTH",
    help="Length of a probe, the unit of all lengths, for example 20s. In updates: the time that "
    "one group of all devices takes for them.",
)
@click.option(
    "--epoch",
    callback=_length,
    metavar="LENGTH",
    help="Length of a training epoch between two searches; 10,000/60 probes if not given.",
)
@click.option(
    "--budget",
    callback=_length,
    metavar="LENGTH",
    help="Emulated time, or group updates, of probes and training together, for example 10min or "
    "3000updates. Without a budget nothing is trained: the command ends after the first choice.",
)
@click.option(
    "--rates",
    default="0.1,0.01,0.001,0.0001",
    show_default=True,
    callback=_rates,
    metavar="RATE,…",
    help="Learning rates of the first choice, and of the baselines that search a grid.",
)
@click.option(
    "--paper",
    is_flag=True,
    help="Make the first choice by the paper's cold start, and by a search that begins with the "
    "fewest groups whose updates are within 10 % of the most frequent. Without this option "
    "successive halving of the whole grid makes it.",
)
@click.option(
    "--refine",
    is_flag=True,
    help="Probe finer momenta around the best of each search, and search before the first epoch.",
)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    type=click.Choice(_BASELINES),
    metavar="NAME",
    help="Play a baseline and the tuned setting to stop.accuracy, and compare: "
    f"{', '.join(_BASELINES)}. Repeatable.",
)
@click.option("--seed", type=int, help="Seed in place of the scenario's.")
@OUT_OPTION(help="Folder of the probes and results; RUNS/tune/NAME-DIGEST if not given.")
@played_by(
    help="Number of probes to play at the same time in virtual time; the number of cores if not "
    "given. Changes no result.",
)
@RUNS_OPTION
@JSON_OPTION
@enduring()
def tune(
    file: ScenarioFile,
    on: str,
    shaping: "Delay | None",
    seed: int | None,
    out: Path | None,
    by: PlayedBy,
    runs: Path,
    as_json: bool,
    **choices: Any,
) -> None:
    """Choose the number of compute groups, the momentum and the learning rate for FILE.

    The first choice is made from the initial weights by successive halving: all numbers of groups,
    rates and momenta train for a short while, the best quarter of them four times as long, and the
    best quarter of those four times as long again. The least mean loss over the second half of a
    trial wins (column `half`, half_loss in the files).

    With --budget, epochs of training and searches alternate until the budget is spent or stop's
    score is reached, as in Algorithm 1 of Omnivore (Hadjis et al., 2016). A search probes momenta
    and rates from the newest model. While the best momentum is 0, there is too much asynchrony, and
    the number of groups is halved. The score of a probe is the mean of its last ten displayed
    losses; the loss of every fifth group update is displayed. training.batch_size is the mini-batch
    of a whole group. With --paper the first choice is that of the paper's cold start and a search.

    The folder has a run folder for each trial, table.csv with a row for each trial and decision,
    tuning.json, probes.png, and tuned.yaml: the scenario with the choice, and the reasons in its
    comments. It begins with model.npz, the model of the best trial so far.

    Finished trials are not played again: after Ctrl-C, or any other end, the same command goes on.

    \b
    emulate tune lab.yaml
    emulate tune lab.yaml --budget 20min --out build/tuned
    emulate tune lab.yaml --baseline fixed-sync --baseline fixed-async
    """
    from ...checks.preflight import warnings
    from ...sweeps.players import players
    from ...sweeps.sweep_folder import opened
    from ...sweeps.tuning import TuneOptions, check
    from ..watching.sweep_views import shown
    from .run import player

    if by.cluster and on == "docker":
        raise click.UsageError("--cluster plays in virtual time: leave --on docker out")
    scenario = file.load() if seed is None else file.load(f"seed={seed}")
    options = TuneOptions(**choices)
    check(scenario, options)
    warn(warnings(scenario, on, runs))
    play = player(on, shaping)
    out = out or runs / "tune" / _folder_name(
        scenario, options, " ".join(filter(None, (on, shaping)))
    )
    rest = f"finished trials are in {short(out)}; the same command goes on"
    with (
        shown(console(stderr=as_json), rest) as view,
        opened(out) as folder,
        players(*by) as here,
    ):
        view.progress(f"into {short(out)}")
        trials = play if on == "docker" else None
        tuned = _play(scenario, options, folder, view, trials, here)
    with drawable(out):
        drawn = analysis("pictures.tunings").draw(out / "tuning.json", out / "probes.png")
    files = {"table": out / "table.csv", "figure": drawn, "tuned": tuned.scenario}

    def show() -> None:
        _print(tuned)
        if options.baselines:
            compared = analysis("pictures.tunings").comparison([out / "tuning.json"])
            rows = compared.drop(columns=["scenario", "seed"]).to_string(index=False)
            click.echo(f"\n{rows}\n")
        for name, path in files.items():
            click.echo(f"{name:<12} {short(path)}")

    emit(as_json, {**tuned.report, "tuned": str(tuned.scenario)}, show)


def _play(
    scenario: "Scenario",
    options: Any,
    folder: "SweepFolder",
    view: Any,
    play: Any,
    here: "Players",
) -> "Tuned":
    """Tune by trials in containers, each of them a call of `play`; None: in virtual time."""
    from ...sweeps.tuning import tune as tuned
    from ...sweeps.tuning.trial_players import ContainerTrials, VirtualTrials

    if play is None:
        return tuned(scenario, options, folder, VirtualTrials(folder, here, view), view)
    return tuned(scenario, options, folder, ContainerTrials(folder, view, play), view)


def _folder_name(scenario: "Scenario", options: Any, on: str) -> str:
    """Return the scenario's name and a digest of everything that the trials depend on.

    Baselines do not change the name, so that they can be added to a folder.
    """
    from hashlib import sha256

    from ...sweeps import Point

    steps = (f"paper={options.paper}", on)
    choices = (options.probe, options.epoch, options.budget, options.rates, options.refine)
    trial = Point("", scenario).contents + f"\0{choices}{steps}".encode()
    digest = sha256(trial).hexdigest()[:8]
    return f"{scenario.name}-{digest}"


def _print(tuned: "Tuned") -> None:

    shown = table(
        "what", "phase", "g", "rate", "momentum", "loss", "half", "updates", "seconds", ""
    )
    for row in tuned.report["rows"]:
        if row["what"] != "pruned":
            shown.add_row(
                *(row["what"], row["phase"]),
                *(_cell(row.get(name), "{:g}") for name in ("groups", "learning_rate", "momentum")),
                *(_cell(row.get(name), "{:.4f}") for name in ("loss", "half_loss")),
                _cell(row.get("updates"), "{}"),
                *(_cell(row.get("seconds"), "{:.4g}"), row["text"]),
            )
    console().print(shown)
    probes, training = (tuned.report["costs"][kind] for kind in ("probes", "training"))
    trained = training["seconds"]
    share = f", {probes['seconds'] / trained:.0%} of" if trained else ", and"
    click.echo(f"\n{'choice':<12} {tuned.setting}")
    click.echo(
        f"{'cost':<12} {probes['trials']} probes of {probes['seconds']:.4g} emulated seconds"
        f"{share} {trained:.4g} s of training"
    )


def _cell(value: Any, form: str) -> str:
    words: Callable[[Any], str] = form.format
    return "" if value is None else words(value)
