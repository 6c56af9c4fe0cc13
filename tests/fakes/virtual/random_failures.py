"""Small fleets under faults of all kinds, drawn by a seed: scenarios that can be played."""

from collections.abc import Iterable, Iterator
from random import Random

CODECS = (
    *("dense", "{kind: topk, keep: 5%}", "{kind: topk, keep: 2%, values: f16}", "signsgd"),
    *("{kind: qsgd, levels: 4}", "{kind: strom, threshold: 0.01}", "adacomp-residual"),
    *("{kind: dgc, keep: 1%}", "onebit", "{kind: randomk, keep: 5%}"),
)
SYNCHRONIZATIONS = (
    *(
        "asynchronous",
        "{kind: barrier, patience: 1s}",
        "{kind: barrier, quorum: 50%, patience: 1s}",
    ),
    *("{kind: bounded, bound: 2, patience: 1s}", "softsync", "{kind: groups, groups: 2}"),
    *("{kind: fedavg, clients: 60%, patience: 2s}", "{kind: local-sgd, steps: 2, patience: 1s}"),
)
AGGREGATIONS = ("mean", "mean", "mean", "median", "{kind: trimmed-mean, trim: 25%}", "norm-clip")
KINDS = {
    *("availability", "byzantine", "churn", "corrupt", "crash", "degrade", "energy", "flap"),
    *("leave", "memory", "overheat", "partition", "pause", "server-crash", "slow", "straggler"),
}
"""Kinds of faults that scenarios have."""
PULLS = ("dense", "{kind: delta, values: f32}", "{kind: dense, values: f16}")


RARER = {
    "codec": (
        *(
            "{kind: dryden, keep: 1%}",
            "ef-signsgd",
            "terngrad",
            "{kind: threshold, threshold: 0.01}",
        ),
        "{kind: topk, keep: 5%, values: bf16, indices: bitmap}",
        "{kind: topk, keep: 2%, values: int8, indices: u16}",
        "{kind: topk, keep: 1%, values: ternary, indices: matrix}",
        "{kind: topk, keep: 1%, indices: u32}",
        "{kind: topk, keep: 1%, indices: auto}",
    ),
    "modulation": ("staleness", "per-parameter"),
    "optimizer": ("adam", "sign"),
    "aggregation": ("{kind: krum, liars: 1}", "{kind: multi-krum, liars: 1}"),
}
"""Parts that one of four fleets has in the place of its own, by their keys of `training`."""
SERVERS = ("durability: update", "quarantine: {refusals: 3")
DRAWS = ("per_iteration: 3%", ", every: ", "share: 40%", "keeps: state", "together: true")
PARTS = {
    *(f"codec: {codec}\n" for codec in CODECS),
    *(f"synchronization: {several}\n" for several in SYNCHRONIZATIONS),
    *(f"aggregation: {aggregation}\n" for aggregation in AGGREGATIONS),
    *(f"pull: {pull}\n" for pull in PULLS),
    *(f"kind: {kind}," for kind in KINDS),
    *SERVERS,
    *DRAWS,
}
"""Texts of which each scenario has some."""


def covering(count: int, seeds: range = range(700, 1000)) -> list[int]:
    """Return `count` of the `seeds`, each with the most `PARTS` that those before it have not."""
    texts = {seed: scenario(seed) for seed in seeds}
    parts = {seed: {part for part in PARTS if part in text} for seed, text in texts.items()}
    chosen: list[int] = []
    missing = set(PARTS)
    for _ in range(count):
        chosen.append(max(parts, key=lambda seed: len(parts[seed] & missing)))
        missing -= parts.pop(chosen[-1])
    return chosen


def scenario(seed: int) -> str:
    """Return a scenario of 2 to 8 devices with up to five faults, as YAML."""
    dice = Random(f"failures/{seed}")
    several = dice.choice(SYNCHRONIZATIONS)
    single = several.startswith(("asynchronous", "{kind: bounded"))
    training = {
        "dataset": "digits",
        "model": "digits-mlp",
        "batch_size": dice.choice([8, 16]),
        "learning_rate": 0.05,
        "codec": dice.choice(CODECS),
        "synchronization": several,
        "aggregation": "mean" if single else dice.choice(AGGREGATIONS),
        "pull": dice.choice(PULLS),
        "optimizer": dice.choice(["sgd", "{kind: momentum, momentum: 0.5}"]),
    }
    training |= _rarer(seed, several)
    least = 3 if "krum" in training["aggregation"] else 1  # it wants five devices
    stop = [f"time: {dice.choice([4, 8, 15])}s"]
    if dice.random() < 0.5:
        stop.append(f"updates: {dice.choice([30, 150])}")
    lines = [
        *(f"name: failures\nseed: {seed}", "training:"),
        *(f"  {key}: {value}" for key, value in training.items()),
        "evaluate: {every: 20}",
        f"stop: {{{', '.join(stop)}}}",
        f"server: {{{', '.join(_server(dice))}}}",
        f"virtual: {{learner: {dice.choice(['numpy', 'none'])}, step: {_law(dice, 0.05)}, "
        "boot: 200ms, serve: 1ms}",
        "devices:",
        f"  - {{name: a, count: 2, link: dsl{_profile(dice)}}}",
        f"  - {{name: b, count: {max(least, dice.randint(1, 3))}{_profile(dice)}}}",
        f"  - {{name: c, count: {dice.randint(1, 3)}, link: 3g}}",
        "faults:",
        *_one_battery(f"  - {{{_fault(dice)}}}" for _ in range(dice.randint(1, 5))),
    ]
    if any("durability" in line for line in lines) and dice.random() < 0.5:
        at = dice.randint(500, 3000)
        lines.append(f"  - {{kind: server-crash, at: {at}ms, lasts: 500ms}}")
    return "\n".join(lines) + "\n"


def _rarer(seed: int, several: str) -> dict[str, str]:
    """Return the part of `RARER` that the fleet of `seed` has, if any."""
    dice = Random(f"failures/{seed}/rarer")
    whole = several == "{kind: barrier, patience: 1s}"  # its steps have a gradient of each device
    key = dice.choice(["aggregation"] if whole else ["codec", "codec", "modulation", "optimizer"])
    return {key: dice.choice(RARER[key])} if dice.random() < 0.25 else {}


def _one_battery(lines: Iterable[str]) -> Iterator[str]:
    """Yield `lines` without all batteries but the first: a device may have one."""
    powered = False
    for line in lines:
        if not (powered and "kind: energy" in line):
            yield line
        powered |= "kind: energy" in line


def _server(dice: Random) -> list[str]:
    parts = ["link: {up: {rate: 50mbit}, down: {rate: 50mbit}}"]
    if dice.random() < 0.3:
        parts.append("durability: update")
    if dice.random() < 0.3:
        parts.append("quarantine: {refusals: 3, within: 2s, lasts: 1s}")
    return parts


def _profile(dice: Random) -> str:
    return f", profile: {{cpu: {dice.choice([20, 50])}%}}" if dice.random() < 0.5 else ""


def _law(dice: Random, seconds: float) -> str:
    middle = f"{1e6 * seconds:.0f}us"
    least, most = f"{5e5 * seconds:.0f}us", f"{1.5e6 * seconds:.0f}us"
    return dice.choice([middle, f"{{exponential: {middle}}}", f"{{uniform: [{least}, {most}]}}"])


def _fault(dice: Random) -> str:
    """Return the keys of a fault of any kind that strikes devices."""
    own = {
        "crash": "",
        "leave": "",
        "partition": "",
        "pause": "",
        "slow": ", factor: 30%",
        "straggler": f", delay: {_law(dice, 0.2)}",
        "memory": ", takes: 60%",
        "overheat": ", heats: 500ms, cools: 1s",
        "degrade": ", rate: 30%, delay: 50ms",
        "corrupt": ", messages: 30%",
        "byzantine": f", lie: {dice.choice(['sign-flip', 'noise', 'replay', 'same-value'])}",
        "flap": f", outage: {_law(dice, 0.3)}, uptime: {_law(dice, 0.5)}",
        "churn": f", on: {_law(dice, 0.6)}, off: {_law(dice, 0.3)}",
        "availability": ", trace: ['on 0, off 0.8, on 1.3, off 2.5, on 2.6, end 3']",
        "energy": ", capacity: 6J, idle: 3.5W, back: 50%, starts: 60%, "
        "recharge: [{begin: 0s, end: 2s, power: 6W}], day: 4s",
    }
    kind = dice.choice(sorted(own))
    keys = [f"kind: {kind}{own[kind]}", dice.choice(["nodes: all", "nodes: [a]", "share: 40%"])]
    if kind == "energy":
        return ", ".join(keys)
    if kind == "crash" and dice.random() < 0.3:
        keys.append("keeps: state")
    lasts = f"lasts: {_law(dice, 1.0)}"
    if kind not in ("flap", "churn", "availability") and dice.random() < 0.3:
        return ", ".join([*keys, "per_iteration: 3%", lasts])
    if dice.random() < 0.4:
        together = ["together: true"] if dice.random() < 0.5 else []
        return ", ".join([*keys, f"every: {_law(dice, 1.5)}", lasts, *together])
    return ", ".join(
        [*keys, f"at: {dice.randint(0, 3000)}ms", *([lasts] if dice.random() < 0.8 else [])]
    )
