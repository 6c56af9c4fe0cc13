"""Every key of every kind of fault with every kind of mistake: played, or named with its place."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.checks.preflight import preflight
from emulator.errors import ScenarioError
from emulator.scenario import Scenario, loads
from emulator.scenario.overview import overview
from emulator.scenario.timeline.compiled import timeline, to_jsonl
from emulator.scenario.timeline.fault_plan import fault_plan
from emulator.world.faults import FAULTS
from tests.fakes.small_scenario import SCENARIOS

DATED = {"nodes": "[shed]", "at": "10s", "lasts": "1s"}
KEYS: dict[str, dict[str, str]] = {
    "crash": {**DATED, "keeps": "state"},
    "leave": DATED,
    "churn": {"nodes": "all", "on": "20s", "off": "{uniform: [1s, 5s]}", "by": "leave"},
    "availability": {
        "nodes": "[farm]",
        "trace": "['on 0, off 9, end 20']",
        "speed": "2",
        "by": "crash",
    },
    "server-crash": {"at": "10s", "lasts": "1s"},
    "energy": {
        "nodes": "[shed]",
        "capacity": "10Wh",
        "idle": "1W",
        "core": "1J",
        "sent": "1uJ",
        "received": "1uJ",
        "starts": "50%",
        "back": "20%",
        "clock": "0s",
        "day": "10min",
        "recharge": "[{begin: 1min, end: 2min, power: 5W}]",
    },
    "partition": {
        "count": "2",
        "every": "{exponential: 30s}",
        "lasts": "1s",
        "between": "[1s, end]",
    },
    "corrupt": {**DATED, "messages": "5%"},
    "degrade": {**DATED, "rate": "25%", "delay": "1s", "loss": "5%"},
    "flap": {**DATED, "outage": "{uniform: [1s, 2s]}", "uptime": "3s"},
    "pause": {"share": "50%", "every": "20s", "lasts": "1s", "together": "true", "spread": "1s"},
    "straggler": {"nodes": "[farm]", "per_iteration": "1%", "delay": "{lognormal: [1s, 1]}"},
    "overheat": {**DATED, "heats": "1min", "cools": "2min", "slowdown": "1.5"},
    "slow": {**DATED, "factor": "25%"},
    "memory": {**DATED, "takes": "50%"},
    "byzantine": {**DATED, "lie": "noise", "by": "2"},
}
"""Keys of a valid entry of each kind, and their values in YAML."""

PLACES = [(kind, key) for kind, keys in KEYS.items() for key in ("kind", *keys)]
NAMES = sorted({key for _, key in PLACES} | {"nodse", "é", "''", "1", "null", "<<", "2026-01-01"})
VALUES = [
    *("", "null", "true", "-1", "0", "1", "1e400", ".nan", ".inf", "-.inf", "99999999999999999999"),
    *("2026-01-01", "2026-01-01 10:00:00", "12:30:00", "0x10", "1_000", "!!binary aGk=", "!x 1"),
    *("text", "é", "'\\0'", '"\\u2028"', "all", "end", "state", "crash"),
    *(
        "[]",
        "{}",
        "[[]]",
        "[null]",
        "[shed, shed]",
        "[1s, 1s]",
        "[2s, 1s]",
        "[end, end]",
        "{a: {}}",
    ),
    *("{fixed: }", "{fixed: -1s}", "{exponential: 0s}", "{uniform: [5s, 1s]}", "{normal: 1s}"),
    *("{weibull: [1s, 0.001]}", "{fixed: 1s, exponential: 1s}", "{lognormal: [1s, .inf]}"),
    *("0s", "1s", "-5s", "5 s", "1e300s", "1e-300s", "nans", "infs", "0%", "5%", "100%", "101%"),
    *(
        "-5%",
        "nan%",
        "0J",
        "1e308Wh",
        "-1W",
        "2g",
        "{up: {rate: 1mbit}}",
        "*a",
        "&a 1s",
        "|",
        "? x",
    ),
]


def text_of(kind: str, keys: dict[str, str], more: str = "", *, profiled: bool = False) -> str:
    """Return a scenario in YAML, the entry of `kind` last, a line for each key."""
    own = {"kind": kind, **keys}
    lines = [
        *("name: farm", "training: {dataset: digits, model: digits-mlp, algorithm: asgd}"),
        *("stop: {time: 2min}", "server: {durability: update}", "devices:"),
        "  - {name: farm, count: 2, link: dsl, profile: phone}",
        "  - name: shed",
        *(["    failures:", "    - name: own", "      faults:"] if profiled else ["faults:"]),
    ]
    margin = "      " if profiled else ""
    entry = [f"{margin}{'- ' if not n else '  '}{k}: {v}" for n, (k, v) in enumerate(own.items())]
    return "\n".join([*lines, *entry, f"{margin}  {more}" if more else ""])


def used(scenario: Scenario) -> None:
    """Do with `scenario` what `check`, `plan` and `plan --json` do."""
    to_jsonl(timeline(scenario))
    json.dumps(fault_plan(scenario).plain(), allow_nan=False)
    json.dumps(overview(scenario).plain(), allow_nan=False)
    preflight(scenario, "virtual")


def judged(text: str) -> None:
    try:
        used(loads(text, folder=SCENARIOS))
    except ScenarioError as error:
        assert error.mistakes, str(error)
        for mistake in error.mistakes:
            assert mistake["line"], mistake
            assert mistake["message"]


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("profiled", [False, True])
def test_each_entry_is_valid_as_it_stands(kind: str, profiled: bool) -> None:
    keys = dict(KEYS[kind])
    if profiled:
        if kind == "server-crash":
            return
        keys.pop("nodes", None)
        keys.pop("count", None)
    used(loads(text_of(kind, keys, profiled=profiled), folder=SCENARIOS))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    place=st.sampled_from(PLACES),
    value=st.sampled_from(VALUES),
    other=st.sampled_from(NAMES),
    how=st.sampled_from(["replace", "replace", "replace", "add", "double", "remove"]),
    profiled=st.booleans(),
)
def test_a_mistake_in_a_fault_is_named_with_its_place(
    place: tuple[str, str], value: str, other: str, how: str, profiled: bool
) -> None:
    (kind, key), keys = place, dict(KEYS[place[0]])
    if profiled:
        keys.pop("nodes", None)
    more = ""
    match how:
        case "replace" if key == "kind":
            kind = value
        case "replace":
            keys[key] = value
        case "add":
            keys[other] = value
        case "double":
            more = f"{key}: {value}"
        case _:
            keys.pop(key, None)
    judged(text_of(kind, keys, more, profiled=profiled))
