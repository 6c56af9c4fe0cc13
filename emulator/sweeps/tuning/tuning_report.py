"""Report of a tuning: the reasons for the choice, as comments, and everything as JSON."""

from typing import Any

from .algorithm.algorithm_one import TuningState
from .algorithm.setting import Setting
from .playing.trial_ledger import TrialLedger
from .tuned_scenario import MODEL


def reasons(setting: Setting, state: TuningState, ledger: TrialLedger) -> list[str]:
    """Return the reasons for `setting`, one a line."""
    probes, trained = ledger.probes, ledger.training.seconds
    cold = state.cold
    speeds = cold.update_seconds if cold else {}
    lines = [
        f"Tuned by `emulate tune`: {probes.trials} probes of {probes.seconds:.4g} emulated "
        f"seconds, {trained:.4g} s of training.",
        *(f"g={groups}: {time:.4g} s per group update" for groups, time in speeds.items()),
        *ledger.table.reasons(setting),
        *(f"the best momentum was 0 at g={groups}, so g was halved" for groups in state.halvings),
    ]
    if each := speeds.get(setting.groups):
        lines.append(f"predicted rate: {1 / each:.4g} group updates per second, as probes measured")
    if state.checkpoint is not None:
        lines += [
            f"{MODEL} is the model of `{state.checkpoint}`, after "
            f"{ledger.age(state.checkpoint):.4g} s of training;",
            "remove training.initial to begin with weights drawn from the seed.",
        ]
    return lines


def report(
    setting: Setting, state: TuningState, ledger: TrialLedger, comparison: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the content of `tuning.json`."""
    cold = state.cold
    return {
        "setting": setting._asdict(),
        "cold": None if cold is None else cold.chosen._asdict(),
        "update_seconds": {} if cold is None else cold.update_seconds,
        "fastest": None if cold is None else cold.fastest,
        "halvings": state.halvings,
        "checkpoint": state.checkpoint,
        "checkpoint_age": ledger.age(state.checkpoint),
        "costs": {"probes": vars(ledger.probes), "training": vars(ledger.training)},
        "comparison": comparison,
        "rows": ledger.table.plain(),
    }
