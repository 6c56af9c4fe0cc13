"""The tuner's algorithm, run on made-up losses."""

from collections.abc import Callable

from emulator.sweeps.tuning.algorithm_one import TuningState, algorithm_one
from emulator.sweeps.tuning.search import Decision, Pruned, Trial, TrialGrid, TrialResult

Loss = Callable[[Trial], float | None]


def drive(
    loss: Loss,
    speeds: dict[int, float],
    epochs: int = 0,
    *,
    paper: bool = True,
    short: bool = False,
    refine: bool = False,
    halves: Loss | None = None,
) -> tuple[TuningState, list[Trial], list[str]]:
    """Run the algorithm on as many devices as the largest number of groups in `speeds`.

    `halves` are the losses in the second half of trials; None: as `loss` has it.
    """
    state = TuningState()
    trials: list[Trial] = []
    decisions: list[str] = []

    def result(trial: Trial) -> TrialResult:
        trials.append(trial)
        score = loss(trial)
        half = halves(trial) if halves else score
        return TrialResult(score, trial.length, 50, speeds[trial.setting.groups], half, short)

    steps = algorithm_one(max(speeds), state, epochs=epochs, paper=paper, refine=refine)
    answer: object = None
    while True:
        try:
            request = steps.send(answer)
        except StopIteration:
            return state, trials, decisions
        answer = None
        match request:
            case Trial():
                answer = result(request)
            case TrialGrid():
                answer = {trial.setting: result(trial) for trial in request.trials}
            case Decision():
                decisions.append(f"{request.phase}: {request.text}")
            case Pruned():
                pass


LINEAR = {1: 8.0, 2: 4.0, 4: 2.0, 8: 1.0}
