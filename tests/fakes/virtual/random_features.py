"""Small fleets under faults, with links, bottlenecks, schedules and cuts drawn by a seed."""

import json
from random import Random
from typing import Any

from emulator.scenario.reading.profiles import Library
from emulator.scenario.reading.yaml_subset import parse
from tests.fakes.small_scenario import SCENARIOS
from tests.fakes.virtual import random_failures

_PRESETS = sorted(Library(SCENARIOS).names("links"))
_SPLITS = ("iid", {"kind": "shards"}, {"kind": "mixture"}, {"kind": "quantity", "alpha": 10})
_SPLITS += ({"kind": "dirichlet", "alpha": 10},)
_SCHEDULES = ("sequential", "layer-by-layer", {"kind": "ibatch"}, {"kind": "dynacomm", "replan": 3})
_CUTTABLE = ("asynchronous", "barrier", "bounded", "groups")
"""Synchronizations that go with schedules and with cut models."""


def scenario(seed: int) -> str:
    """Return a scenario as `random_failures.scenario` does, with more features; most are valid."""
    dice = Random(f"features/{seed}")
    drawn: dict[str, Any] = parse(random_failures.scenario(seed), "drawn").data
    training, virtual = drawn["training"], drawn["virtual"]
    kind = training["synchronization"]
    kind = kind if isinstance(kind, str) else kind["kind"]
    if kind in _CUTTABLE and dice.random() < 0.5:
        for fault in drawn.get("faults", ()):
            fault.pop("keeps", None)  # only of devices that pull and push the whole model
        virtual["layers"] = {"forward": [1, 2, 1], "backward": [2, 3, 1]}
        if dice.random() < 0.6:
            training["schedule"] = dice.choice(_SCHEDULES)
        else:
            labels, place = dice.choice(["sent", "local"]), {"after": dice.choice([1, 2])}
            training |= {
                "fully_connected": {"place": place, "labels": labels},
                "aggregation": "mean",
            }
            virtual["dense"] = "2ms"
    training["split"] = dice.choice(_SPLITS)
    if training["codec"] in ("dense", {"kind": "qsgd", "levels": 4}) and dice.random() < 0.5:
        training["error_feedback"] = True
    drawn["server"]["link"] = {way: _side(dice, 5e6) for way in ("up", "down")}
    drawn["server"]["checkpoint"] = {"every": "700ms"}
    for group in drawn["devices"]:
        sides = {way: _side(dice, 4e5, changes=True) for way in ("up", "down")}
        group["link"] = dice.choice(_PRESETS) if dice.random() < 0.3 else sides
    if dice.random() < 0.4:
        drawn["bottlenecks"] = [{"name": "street", "up": _shared(dice), "members": ["a", "b-*"]}]
    if dice.random() < 0.3:
        drawn["tcp"] = {"congestion": dice.choice(["cubic", "bbr", "reno"])}
    virtual["tcp"] = dice.random() < 0.8
    if _may_have_shards(drawn) and dice.random() < 0.5:
        drawn["server"]["shards"] = dice.choice([2, 3])
    if "shards" not in drawn["server"]:
        _add_network(drawn, Random(f"network/{seed}"))
    _add_background(drawn, Random(f"background/{seed}"))
    return "\n".join(f"{key}: {json.dumps(value)}" for key, value in drawn.items()) + "\n"


def _add_network(drawn: dict[str, Any], dice: Random) -> None:
    """Add in some cases a ring of routers with a link across, and faults of its links."""
    if dice.random() < 0.6:
        return
    routers = [f"r{number}" for number in range(dice.randint(2, 6))]
    pairs = [[routers[place - 1], router] for place, router in enumerate(routers)][
        len(routers) < 3 :
    ]
    if len(routers) > 3:
        pairs.append(["r0", "r2"])
    links = [
        {"name": f"l{n}", "between": pair, "up": _shared(dice), "down": _shared(dice)}
        for n, pair in enumerate(pairs)
    ]
    drawn["network"] = {"routers": routers, "links": links, "server": dice.choice(routers)}
    if dice.random() < 0.5:
        attached = {group["name"]: dice.choice(routers) for group in drawn["devices"]}
        drawn["network"]["attach"] = attached
    # no loss can come on top of that of a model with four states
    loss = {} if '"state"' in json.dumps(drawn["devices"]) else {"loss": "1%"}
    faults = (
        {"kind": "partition", "nodes": ["l0"], "at": "1s", "lasts": "500ms"},
        {"kind": "degrade", "nodes": ["l0"], "at": "1s", "lasts": "2s", "rate": "30%", **loss},
        {"kind": "degrade", "nodes": ["l0", "a"], "at": "2s", "lasts": "1s", "delay": "50ms"},
    )
    drawn["faults"] = [*drawn.get("faults", ()), dice.choice(faults)]


def _add_background(drawn: dict[str, Any], dice: Random) -> None:
    """Add in some cases background traffic to groups, bottlenecks and links of the network."""
    queues = [*drawn["devices"], *drawn.get("bottlenecks", ())]
    queues += drawn.get("network", {}).get("links", ())
    if "shards" in drawn["server"] or dice.random() < 0.5:
        return
    for queue in queues:
        if dice.random() < 0.5:
            sides = {
                way: _stream(dice) for way in dice.choice([("up",), ("down",), ("up", "down")])
            }
            queue["background"] = {**sides, "kind": dice.choice(["udp", "tcp"])}


def _stream(dice: Random) -> dict[str, Any]:
    rate = {"rate": _rate(dice, 2e4)}
    laws: tuple[dict[str, Any], ...] = (
        {"law": "constant", **rate},
        {"law": "poisson", "size": dice.choice(["1514B", "64KiB"]), **rate},
        {"law": "on-off", "on": "1s", "off": {"exponential": "500ms"}, **rate},
        {"law": "trace", "trace": _trace(dice)},
    )
    return dice.choice(laws)


def _may_have_shards(drawn: dict[str, Any]) -> bool:
    """Return whether shards of the server go together with the other parts."""
    training = drawn["training"]
    return (
        not ("fully_connected" in training or "bottlenecks" in drawn)
        and training.get("schedule", "sequential") == "sequential"
        and not any("keeps" in fault for fault in drawn.get("faults", ()))
    )


def _shared(dice: Random) -> dict[str, Any]:
    return {"rate": _rate(dice, 2e6), "delay": f"{dice.randint(0, 20)}ms"}


def _rate(dice: Random, least: float) -> str:
    return f"{least * 10 ** dice.uniform(0, 2):.0f}bit"


def _share(dice: Random, most: float) -> str:
    return f"{dice.uniform(0, most):.2f}%"


def _side(dice: Random, least: float, *, changes: bool = False) -> dict[str, Any]:
    """Return a direction of a link with a rate of `least` or more; it may change by itself."""
    delay = dice.randint(1, 100)
    side: dict[str, Any] = {"rate": _rate(dice, least), "delay": f"{delay}ms"}
    if dice.random() < 0.5:
        side["jitter"] = f"{dice.uniform(0.1, delay):.2f}ms"
        side["distribution"] = dice.choice(["normal", "uniform", "pareto", "paretonormal"])
        side["correlation"] = _share(dice, 100)
    lossy = (
        {},
        {"loss": _share(dice, 4)},
        {"loss_model": {"gemodel": {"p": _share(dice, 2), "r": "30%"}}},
        {"loss_model": {"state": {"p13": _share(dice, 2), "p31": "30%", "p14": "0.1%"}}},
    )
    side |= dice.choice(lossy)
    more = {
        "duplicate": _share(dice, 5),
        "corrupt": _share(dice, 2),
        "reorder": _share(dice, 10),
        "limit": dice.choice([5, 1000]),
        "overhead": dice.choice([8, 26]),
        "setup": f"{dice.randint(0, 20)}ms",
    }
    side |= dict(dice.sample(sorted(more.items()), dice.randint(0, 3)))
    if "reorder" in side and dice.random() < 0.5:
        side["gap"] = dice.choice([2, 5])
    if changes and dice.random() < 0.4:
        side |= dice.choice([{"steps": _steps(dice, least)}, {"trace": _trace(dice)}])
    return side


def _steps(dice: Random, least: float) -> list[dict[str, Any]]:
    times = sorted(dice.sample(range(100, 4000), dice.randint(1, 3)))
    kinds = (
        lambda: {"rate": _rate(dice, least)},
        lambda: {"delay": f"{dice.randint(100, 300)}ms"},
        lambda: {"rate": _rate(dice, least), "delay": "100ms"},
    )
    return [{"at": f"{time}ms", **dice.choice(kinds)()} for time in times]


def _trace(dice: Random) -> dict[str, Any]:
    """Return a trace with outages, that begins anew or stays at its end."""
    time, samples = 0.0, []
    for _ in range(dice.randint(1, 6)):
        samples.append(f"{time:g} {dice.choice([0, 300_000, 2_000_000, 20_000_000])}")
        time += dice.choice([0.2, 0.5, 1])
    if all(sample.endswith(" 0") for sample in samples):  # a link that carries nothing is refused
        samples[-1] = f"{samples[-1].split()[0]} 2000000"
    text = ", ".join([*samples, f"end {time:g}"])
    start = dice.choice(["random", "0s", "700ms"])
    return {"samples": text, "loop": dice.random() < 0.7, "start": start, "scale": 2.0}
