"""The training protocol in words: no ratio means anything without it."""

from typing import Any

from .runs import Run

_ALGORITHMS = {
    "asgd": "every entry is sent and each step is taken in full",
    "ada-sgd": "every entry is sent and each step is divided by the update's staleness",
    "comp-asgd": "the largest entries of each variable are sent and each step is taken in full",
    "adacomp": "the largest entries of each variable are sent "
    "and each step is divided by its parameter's own staleness",
}

_LEARNERS = {
    "tensorflow": "gradients by TensorFlow",
    "numpy": "gradients by NumPy",
    "none": "no gradients, but messages of the sizes to be expected, so that nothing is learnt",
}
_WORK = {
    "step": "a step takes",
    "boot": "a boot takes",
    "serve": "an update takes the server",
}
_LINKS = {
    "modelled": "links as TCP uses them (slow start, loss, back-off after a cut)",
    "ideal": "ideal links, without what TCP makes of them",
}

_PARTS = ("codec", "modulation", "synchronization")


def algorithm(run: Run) -> str:
    """The name of the algorithm, or of the parts that it is spelled out with."""
    training = _training(run)
    for told in (training, run.manifest, run.summary):
        if told.get("algorithm"):
            return str(told["algorithm"])
    parts = [_part(training.get(key)) for key in _PARTS]
    return " + ".join(filter(None, parts)) or "unknown algorithm"


def sentence(run: Run) -> str:
    """Algorithm, step size, batch, seed, model and data, as one sentence of prose."""
    training = _training(run)
    name = algorithm(run)
    if not training:
        return f"{name}; the rest is unknown, as the run's scenario is missing."
    facts = [f"{key} {_part(training[key])}" for key in _PARTS if training.get(key)]
    facts += ["error feedback"] if training.get("error_feedback") else []
    facts += [
        f"learning rate α = {training.get('learning_rate', '?')}",
        f"batch {training.get('batch_size', '?')}",
        f"seed {run.summary.get('seed', run.scenario.get('seed', '?'))}",
    ]
    told = f" ({_ALGORITHMS[name]})" if name in _ALGORITHMS else ""
    return (
        f"{name}{told}: {', '.join(facts)}; model {_part(training.get('model')) or '?'} on "
        f"{_part(training.get('dataset')) or '?'}, split {_part(training.get('split')) or 'iid'}."
    ) + virtual(run)


def virtual(run: Run) -> str:
    """What a run in virtual time assumed, as a sentence; empty for a run in containers."""
    told = run.scenario.get("virtual")
    if not run.virtual:
        return ""
    assumed = told if isinstance(told, dict) else {}
    laws = [f"{words} {_part(assumed[what])}" for what, words in _WORK.items() if what in assumed]
    works = " and ".join([", ".join(laws[:-1]), laws[-1]] if laws[1:] else laws)
    facts = [
        _LEARNERS.get(str(assumed.get("learner")), "gradients by an unknown learner"),
        *([f"{works} on a whole core"] if works else []),
        _LINKS.get(run.manifest.get("tcp"), "links of an unknown kind"),
    ]
    return f" Played in virtual time: {'; '.join(facts)}."


def _training(run: Run) -> dict[str, Any]:
    training = run.scenario.get("training")
    return training if isinstance(training, dict) else {}


def _part(value: Any) -> str:
    """`{kind: topk, keep: 1%}` as `topk (keep 1%)`, `{fixed: 1s}` as `1s`; a name as it is."""
    if isinstance(value, list):
        return ", ".join(map(_part, value))
    if not isinstance(value, dict):
        return "" if value is None else str(value)
    if len(value) == 1 and "kind" not in value:  # a law, which has a single key
        ((law, one),) = value.items()
        return _part(one) if law == "fixed" else f"{law} ({_part(one)})"
    options = ", ".join(f"{key} {_part(one)}" for key, one in value.items() if key != "kind")
    return f"{value.get('kind', '')} ({options})" if options else str(value.get("kind", ""))
