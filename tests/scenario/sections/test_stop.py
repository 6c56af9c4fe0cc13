"""Stop conditions: each row of their table has a key, words, an outcome and its refusals."""

from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from emulator.checks.preflight import preflight
from emulator.errors import ScenarioError
from emulator.learning.models import MODELS
from emulator.log.records import EvaluationRecord
from emulator.scenario import StopSection
from emulator.scenario.reading import training_checks
from emulator.scenario.reading.load import load
from emulator.world.stop_conditions import CONDITIONS, KNOWN, OUTCOMES, SCORED, Stop
from tests.fakes.small_scenario import SMALL, in_folder, mistakes, small


class Row(NamedTuple):
    """How a condition is written, planned and said; scores that meet it, and that do not."""

    written: str
    limit: float
    phrase: str
    met: tuple[dict[str, Any], ...] = ()
    missed: tuple[dict[str, Any], ...] = ()
    regression: bool = True
    """Whether a regression can be stopped by it."""


ROWS = {
    "updates": Row("300", 300, "300 updates"),
    "accuracy": Row(
        "97%",
        0.97,
        "accuracy 97%",
        met=({"accuracy": 0.97}, {"accuracy": 1.0}),
        missed=({"accuracy": 0.96}, {"accuracy": None}),
        regression=False,
    ),
    "loss": Row(
        "0.25", 0.25, "loss 0.25", met=({"loss": 0.25}, {"loss": 0.0}), missed=({"loss": 0.26},)
    ),
    "time": Row("10min", 600, "10min"),
}
KEYS = sorted(ROWS)
UNSCORED = EvaluationRecord(0.0, 0, 0, accuracy=None, loss=None, push_bytes=0)


def written(key: str) -> str:
    return f"{{{key}: {ROWS[key].written}}}"


def only(key: str) -> tuple[str, ...]:
    return (f"stop={written(key)}",)


def test_each_condition_has_a_limit_a_key_and_a_row_here() -> None:
    keys = list(CONDITIONS)
    assert keys == [field.name for field in fields(Stop)]
    assert list(KNOWN) == list(StopSection.model_fields)
    assert keys == list(ROWS)
    assert {key for key, row in ROWS.items() if row.met} == SCORED
    assert all(OUTCOMES[key] == "success" for key in keys)


@pytest.mark.parametrize("key", KEYS)
def test_a_limit_is_planned_in_base_units_and_said_by_check(key: str) -> None:
    scenario = small(overrides=only(key))
    assert scenario.stop.planned == Stop(**{key: ROWS[key].limit})  # type: ignore[arg-type]
    assert [CONDITIONS[key].phrase(n) for key, n in scenario.stop.limits.items()] == [
        ROWS[key].phrase
    ]


@pytest.mark.parametrize("key", KEYS)
def test_a_score_meets_the_limit_or_not(key: str) -> None:
    row = ROWS[key]
    stop = Stop(**{key: row.limit})  # type: ignore[arg-type]
    assert stop.reached(UNSCORED) is None
    for scores, reason in ((row.met, key), (row.missed, None)):
        for score in scores:
            record = msgspec.structs.replace(UNSCORED, **score)
            assert stop.reached(record) == reason
            assert Stop().reached(record) is None


@pytest.mark.parametrize("key", KEYS)
def test_a_score_is_no_condition_where_there_is_none(key: str) -> None:
    unlearnt = small(overrides=(*only(key), "virtual.learner=none", "virtual.step=1s"))
    refusals = map(str, preflight(unlearnt, "virtual").refusals)
    refusal = f"stop.{key}: with virtual.learner none nobody learns: leave it out"
    assert list(refusals) == [refusal] * (key in SCORED)
    later = (*only(key), "evaluate.when=after")
    if key in SCORED:
        (said,) = mistakes(overrides=later)
        assert f"stop.{key}: with evaluate.when after no {key} is known before the run" in said
    else:
        small(overrides=later)


@pytest.mark.parametrize("key", KEYS)
def test_a_regression_is_stopped_by_what_it_has(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "a,label\n" + "".join(f"{n}.5,{n}.25\n" for n in range(40))
    text = SMALL.replace("digits\n", "{file: data.csv}\n").replace("{updates: 10}", written(key))
    path = in_folder(tmp_path, {"own.yaml": text, "data.csv": rows})
    # a model of a regression is one's own, and takes TensorFlow
    monkeypatch.setattr(training_checks, "known_model", lambda _: MODELS["digits-mlp"])
    with pytest.raises(ScenarioError, match="'digits-mlp' takes images") as error:
        load(path)
    refused = f"stop.{key}: a regression has no {key}" in str(error.value)
    assert refused is not ROWS[key].regression
