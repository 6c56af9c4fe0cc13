"""The training protocol of a run in words, without which no ratio has a meaning."""

from typing import Any

from .runs import Run, fact

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
    "none": "no gradients: messages have the expected sizes, and nothing is learnt",
}
_WORK = {
    "step": "a step takes",
    "boot": "a boot takes",
    "serve": "an update takes the server",
    "dense": "a pass takes the server",
}
_LINKS = {
    "modelled": "links with TCP modelled (slow start, loss, back-off after a cut)",
    "cubic": "links with TCP modelled, with CUBIC (slow start, loss, back-off after a cut)",
    "reno": "links with TCP modelled, with Reno (slow start, loss, back-off after a cut)",
    "bbr": "links with TCP modelled, with BBR (paced start-up, little heed of loss)",
    "ideal": "ideal links, without the effects of TCP",
}

_PARTS = ("codec", "modulation", "synchronization")


def algorithm(run: Run) -> str:
    """Return the name of the algorithm of `run`, or the names of its parts."""
    training = run.training
    for source in (training, run.manifest, run.summary):
        if source.get("algorithm"):
            return str(source["algorithm"])
    parts = [_part(training.get(key)) for key in _PARTS]
    return " + ".join(filter(None, parts)) or "unknown algorithm"


def sentence(run: Run) -> str:
    """Return algorithm, learning rate, batch size, seed, model and data of `run` as a sentence."""
    training = run.training
    if run.workload:
        return workload(run)
    name = algorithm(run)
    if not training:
        return f"{name}; the rest is unknown, as the run's scenario is missing."
    facts = [f"{key} {_part(training[key])}" for key in _PARTS if training.get(key)]
    facts += ["error feedback"] if training.get("error_feedback") else []
    schedule = _part(training.get("schedule"))
    facts += [f"schedule {schedule}"] if schedule not in ("", "sequential") else []
    facts += _cut(training)
    facts += [
        f"learning rate α = {training.get('learning_rate', '?')}",
        f"batch {training.get('batch_size', '?')}{_of_a_group(training)}",
        f"seed {run.summary.get('seed', run.scenario.get('seed', '?'))}",
    ]
    about = f" ({_ALGORITHMS[name]})" if name in _ALGORITHMS else ""
    return (
        f"{name}{about}: {', '.join(facts)}; model {_network(training.get('model')) or '?'} on "
        f"{_part(training.get('dataset')) or '?'}, split {_part(training.get('split')) or 'iid'}."
    ) + virtual(run)


def workload(run: Run) -> str:
    """Return the workload of `run` as a sentence: its image, and the commands of its programs."""
    section = run.scenario["workload"]
    image = section.get("image") or section.get("build") or "an unknown image"
    programs = [(key, section.get(key)) for key in ("server", "device", "driver")]
    commands = [
        f"{key} `{_command(what.get('command'))}`"
        for key, what in programs
        if isinstance(what, dict)
    ]
    seed = run.summary.get("seed", run.scenario.get("seed", "?"))
    return f"workload of {image}: {', '.join(commands)}; seed {seed}."


def _command(command: Any) -> str:
    if command is None:
        return "of the image"
    return " ".join(map(str, command)) if isinstance(command, list) else str(command)


def _cut(training: dict[str, Any]) -> list[str]:
    """Return where the model is cut between devices and server, in words; [] without a cut."""
    section = training.get("fully_connected")
    if not isinstance(section, dict):
        return []
    place, labels, values = (section.get(key) for key in ("place", "labels", "values"))
    where = f"behind layer {place.get('after')}" if isinstance(place, dict) else "before dense"
    kept = ", labels on the devices" if labels == "local" else ""
    return [f"cut {where} (activations {values or 'f32'}{kept})"]


def _of_a_group(training: dict[str, Any]) -> str:
    synchronization = training.get("synchronization")
    kind = synchronization.get("kind") if isinstance(synchronization, dict) else None
    return " a group" if kind == "groups" else ""


def virtual(run: Run) -> str:
    """Return the assumptions of a run in virtual time as a sentence; "" for a run in containers."""
    section = run.scenario.get("virtual")
    if not run.virtual:
        return ""
    assumed = section if isinstance(section, dict) else {}
    laws = [f"{words} {_part(assumed[key])}" for key, words in _WORK.items() if key in assumed]
    works = " and ".join([", ".join(laws[:-1]), laws[-1]] if laws[1:] else laws)
    facts = [
        _LEARNERS.get(str(assumed.get("learner")), "gradients by an unknown learner"),
        *([f"{works} on a whole core"] if works else []),
        _LINKS.get(str(run.manifest.get("tcp")), "links of an unknown kind"),
    ]
    return f" Played in virtual time: {'; '.join(facts)}."


def _network(model: Any) -> str:
    """Return the name of `model`, which is a name or a layer table with a `name`."""
    return f"{model.get('name', '?')} (a layer table)" if isinstance(model, dict) else _part(model)


def _part(value: Any) -> str:
    """Return `value` in words; a name is returned unchanged.

    For example `{kind: topk, keep: 1%}` becomes `topk (keep 1%)`, and `{fixed: 1s}` becomes `1s`.
    """
    if isinstance(value, list):
        return ", ".join(map(_part, value))
    if not isinstance(value, dict):
        return "" if value is None else str(value)
    if len(value) == 1 and "kind" not in value:  # a law, which has a single key
        ((law, time),) = value.items()
        return _part(time) if law == "fixed" else f"{law} ({_part(time)})"
    options = ", ".join(f"{key} {_part(inner)}" for key, inner in value.items() if key != "kind")
    return f"{value.get('kind', '')} ({options})" if options else str(value.get("kind", ""))


@fact
def is_regression(run: Run) -> bool:
    """Return whether any evaluation of `run` has a mean absolute error."""
    return bool(run.records("evaluation")["error"].notna().any())
