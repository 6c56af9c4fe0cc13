"""Scenarios as dice may write them: what hypothesis draws."""

from collections.abc import Collection
from typing import Any

from hypothesis import strategies as st

from emulator.scenario.algorithms import ALGORITHMS
from emulator.synchronization.base import LEAST_PATIENCE
from emulator.world.faults import FAULTS
from emulator.world.faults.schedule import is_episodic

TIMES = st.integers(1, 10**7).map(lambda number: f"{number}us") | st.sampled_from(["1.5min", "3h"])
SHARES = st.integers(1, 10_000).map(lambda number: f"{number / 100}%")
LAWS = (
    TIMES
    | st.fixed_dictionaries({"exponential": TIMES})
    | TIMES.map(lambda time: {"uniform": [time, "20000s"]})
    | st.tuples(TIMES, st.floats(0.01, 10)).map(lambda pair: {"weibull": list(pair)})
    | st.tuples(TIMES, st.floats(0.01, 10)).map(lambda pair: {"lognormal": list(pair)})
)
SIDES = st.fixed_dictionaries(
    {},
    optional={
        "rate": st.integers(1, 10**9).map(lambda number: f"{number}bit"),
        "delay": TIMES,
        "loss": SHARES,
    },
)
LINKS = st.sampled_from(["fios", "2g", "dial"]) | st.fixed_dictionaries(
    {}, optional={"up": SIDES, "down": SIDES}
)
OWN_KEYS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "corrupt": {"messages": SHARES},
    "degrade": {"rate": SHARES, "delay": TIMES},
    "flap": {"outage": LAWS, "uptime": LAWS},
    "straggler": {"delay": LAWS},
    "overheat": {"heats": TIMES, "cools": TIMES},
    "churn": {"on": LAWS, "off": LAWS},
    "availability": {"trace": st.just(["on 0, off 3600, end 86400"])},
    "slow": {"factor": SHARES},
    "memory": {"takes": SHARES},
}
"""The keys that a kind of fault needs beside those of its schedule."""
OF_SERVER = {kind for kind, fault in FAULTS.items() if getattr(fault, "strikes_server", False)}
"""Kinds that need a durable server, and strike no device."""
BY_LAW = {kind for kind, fault in FAULTS.items() if is_episodic(fault)}
"""Kinds that no iteration draws."""
WITHOUT_TIMES = {kind for kind, fault in FAULTS.items() if getattr(fault, "by_itself", False)}
BATTERIES = st.fixed_dictionaries(
    {"kind": st.just("energy"), "capacity": st.sampled_from(["5J", "2.5Wh", "1e3mWh"])},
    optional={
        "idle": st.sampled_from(["1W", "2.5mW"]),
        "core": st.just("3J"),
        "sent": st.just("2uJ"),
        "back": SHARES,
        "clock": TIMES,
        "recharge": st.just([{"begin": "22h", "end": "6h", "power": "5W"}]),
    },
)


def faults(
    keys: dict[str, st.SearchStrategy[Any]], but: Collection[str] = (), **optional: Any
) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a fault of any kind outside `but`, with `keys` and some of the `optional` keys."""
    return st.sampled_from(sorted(set(FAULTS) - set(but) - WITHOUT_TIMES - OF_SERVER)).flatmap(
        lambda kind: st.fixed_dictionaries(
            {"kind": st.just(kind), **keys, **OWN_KEYS.get(kind, {})}, optional=optional
        )
    )


WINDOWS = st.sampled_from([["1s", "2min"], ["0s", "end"]])
RECURRING = (
    faults({"every": LAWS}, lasts=LAWS)
    | faults({"every": LAWS, "between": WINDOWS})
    | faults({"at": LAWS, "together": st.just(True)}, lasts=LAWS, spread=LAWS)
    | faults({"per_iteration": SHARES}, BY_LAW, lasts=LAWS)
    | BATTERIES
)
TARGETS = st.fixed_dictionaries({"share": SHARES}) | st.just({"nodes": "all"})
WORDS = st.sampled_from(["no", "null", "1e3", "0x10", "12", "on", "a-b", "007", "y"])
GROUPS = st.lists(
    st.fixed_dictionaries(
        {"name": WORDS},
        optional={
            "count": st.integers(1, 3),
            "profile": st.sampled_from(["laptop", "phone"])
            | st.fixed_dictionaries({}, optional={"cpu": SHARES, "memory": st.just("1.5GiB")}),
            "link": LINKS,
            "failures": st.lists(RECURRING, min_size=1, max_size=2).map(
                lambda faults: [{"name": "mine", "faults": faults}, "flaky-home"]
            ),
        },
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda group: group["name"],
)
PARTS = st.fixed_dictionaries(
    {"codec": SHARES.map(lambda keep: {"kind": "topk", "keep": keep}) | st.just("dense")},
    optional={
        "modulation": st.sampled_from(["constant", "staleness", "per-parameter"]),
        "synchronization": st.builds(
            lambda kind, time: {"kind": kind, "patience": time},
            st.sampled_from(["barrier", "bounded", "fedavg", "local-sgd"]),
            st.integers(round(LEAST_PATIENCE * 1e6), 10**7).map(lambda number: f"{number}us"),
        )
        | st.sampled_from(["order", "speed"]).map(
            lambda assign: {"kind": "groups", "groups": 1, "assign": assign}
        ),
        "optimizer": st.floats(-0.99, 0.99).map(lambda m: {"kind": "momentum", "momentum": m})
        | st.sampled_from(["sgd", "adam"]),
        "learning_rate": st.floats(1e-300, 1e300),
        "error_feedback": st.booleans(),
    },
) | st.sampled_from([{"algorithm": name} for name in ALGORITHMS])


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    groups = draw(GROUPS)
    names = [group["name"] for group in groups]
    nodes = st.lists(st.sampled_from(names), min_size=1)
    aimed = faults({"nodes": nodes, "at": TIMES}, lasts=TIMES) | st.builds(
        lambda fault, targets: {**fault, **targets}, RECURRING, TARGETS
    )
    return {
        "name": draw(WORDS),
        "seed": draw(st.integers(-(10**9), 10**9)),
        "training": {"dataset": "digits", "model": "digits-mlp", **draw(PARTS)},
        "stop": draw(st.sampled_from([{"time": "2h"}, {"accuracy": "97.5%"}, {"updates": 1}])),
        "server": {"link": draw(LINKS), "checkpoint": {"every": draw(TIMES)}},
        "devices": groups,
        "faults": _one_battery(draw(st.lists(aimed, max_size=3)), groups),
    }


def _one_battery(aimed: list[dict[str, Any]], groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return `aimed` without a second battery for any device, which the `groups` lose too."""
    profiles = (group["failures"][0] for group in groups if "failures" in group)
    powered = False
    for profile in profiles:
        profile["faults"], own = _first_battery(profile["faults"])
        powered |= own
    unpowered = [fault for fault in aimed if fault["kind"] != "energy"]
    return unpowered if powered else _first_battery(aimed)[0]


def _first_battery(faults: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
    """Return `faults` without all batteries but the first, and whether there is one."""
    kept: list[dict[str, Any]] = []
    powered = False
    for fault in faults:
        if not (powered and fault["kind"] == "energy"):
            kept.append(fault)
        powered |= fault["kind"] == "energy"
    return kept, powered
