"""Tables of studies, as their files declare them, from runs of a few records."""

from pathlib import Path

import pytest

from analysis.papers import study_tables
from analysis.papers.folder import open_study
from analysis.papers.results import Results
from tests.fakes.both_ways import one_sided
from tests.fakes.runs.made_up_study import BETTER, GOOD, Key, played, pull, training

DENSE, SPARSE = training(BETTER, 100, 0), training(BETTER, 1, 2)


def tables(folder: Path) -> str:
    return "\n\n".join(study_tables.tables(Results(open_study(folder))))


def cells(text: str, begin: str) -> list[list[str]]:
    """Return the cells behind the name of the lines of `text` that begin with `begin`."""
    lines = [line for line in text.splitlines() if line.startswith(f"| {begin} |")]
    return [line.strip("| ").split(" | ")[1:] for line in lines]


def test_costs_and_how_many_times_fewer(tmp_path: Path) -> None:
    entries = {
        ("w", "ASGD", "0.1"): [DENSE] * 3,
        ("w", "AdaComp 1 %", "0.2"): [SPARSE, SPARSE, training(GOOD, 1, 2)],
    }
    made = tables(played(tmp_path, "headline", entries))
    # 20 and 30 updates of 410 bytes; of 4 for the value, 2 for the index and 10 besides; a pull of
    # 700 bytes before each update
    assert [line[2:] for line in cells(made, "ASGD")[:2]] == [
        ["20", "8.2 kB", "1", "14 kB", "22.2 kB", "1"],
        ["30", "12.3 kB", "1", "21 kB", "33.3 kB", "1"],
    ]
    assert [line[2:] for line in cells(made, "AdaComp 1 %")[:2]] == [
        ["20", "320 B", "25.6", "14 kB", "14.3 kB", "1.55"],
        ["30", "480 B", "25.6", "21 kB", "21.5 kB", "1.55"],
    ]
    assert cells(made, "AdaComp 1 %")[0][:2] == ["0.2", "97.78 % (95.83 % – 97.78 %)"]
    assert "× fewer pushed to 98.5 %" in made
    assert one_sided(made) == []


def test_a_target_that_most_seeds_missed_is_never(tmp_path: Path) -> None:
    missed = training(GOOD, 1, 2)
    entries = {
        ("w", "ASGD", "0.1"): [DENSE] * 3,
        ("w", "AdaComp 1 %", "0.1"): [missed, missed, SPARSE],
    }
    made = tables(played(tmp_path, "headline", entries))
    assert cells(made, "AdaComp 1 %")[1][2:] == ["never", "never", "–", "never", "never", "–"]


def test_byte_models_charge_no_dense_update_for_indices(tmp_path: Path) -> None:
    entries: dict[Key, list[list[dict]]] = {
        ("w", "ASGD", "0.1"): [DENSE],
        ("w", "AdaComp 1 %", "0.1"): [SPARSE],
    }
    made = tables(played(tmp_path, "headline", entries))
    # 400 bytes over 4; over 6 and a count for its only block; over 8; over 12
    assert cells(made, "AdaComp 1 %")[2] == ["25.6", "100", "40", "50", "33.3"]


def test_worlds_are_named_where_there_are_several(tmp_path: Path) -> None:
    entries: dict[Key, list[list[dict]]] = {
        ("50 devices", "ASGD", "0.1"): [DENSE],
        ("200 devices", "ASGD", "0.1"): [DENSE],
    }
    made = tables(played(tmp_path, "headline", entries))
    assert cells(made, "50 devices: ASGD")
    assert cells(made, "200 devices: ASGD")


def test_compression_by_kind_of_layer_in_parts_of_a_run(tmp_path: Path) -> None:
    packed = training(GOOD, 1, 2)
    for item in (item for item in packed if item["what"] == "update"):
        item["paper"] = {"conv": 4.0 if item["at"] < 20 else 1.0}
    entries = {
        ("CNN", "dense", "0.1"): [DENSE] * 3,
        ("CNN", "adacomp-residual", "0.1"): [packed] * 3,
    }
    made = tables(played(tmp_path / "accuracy", "accuracy", entries))
    (accuracy,) = cells(made, "adacomp-residual")
    assert accuracy[1:3] == ["95.83 % (95.83 % – 95.83 %)", "−1.95 points"]
    # 50 pulls of 700 bytes; 50 pushes of 410 and of 16
    assert accuracy[5:] == ["800 B", "25.6", "35 kB", "35.8 kB", "1.55"]
    assert one_sided(made) == []
    made = tables(played(tmp_path / "rates", "rates", entries))
    # by the summary 100 bytes a dense update; the first two fifths send four times as much
    (conv,) = cells(made, "adacomp-residual, conv")
    assert conv == ["25", "25", "47.1", "100", "100", "100"]
    (wire,) = cells(made, "adacomp-residual, wire")
    assert wire == ["25"] * 6
    assert not cells(made, "adacomp-residual, recurrent"), "a line without a value is left out"
    assert one_sided(made) == []


def test_pulls_of_devices_count_and_those_of_the_evaluator_do_not(tmp_path: Path) -> None:
    dense = [*training(GOOD, 1, 2), {**pull(2.0), "bytes": 9000.0, "node": "evaluator"}]
    delta = [{**r, "bytes": 70} if r["what"] == "pull" else r for r in training(GOOD, 1, 2)]
    entries = {
        ("w", "dense, f32", "0.1"): [dense] * 3,
        ("w", "delta, f32", "0.1"): [delta] * 3,
        ("w", "delta, f16", "0.1"): [training(GOOD[:2], 1, 2)] * 2 + [dense],
    }
    made = tables(played(tmp_path, "pulls", entries))
    took = "20 s (20 s – 20 s)"
    (whole,), (changed,) = cells(made, "dense, f32"), cells(made, "delta, f32")
    assert whole == [took, "1", "20", "320 B", "14 kB", "1", "14.3 kB", "1", "1"]
    assert changed == [took, "1", "20", "320 B", "1.4 kB", "10", "1.72 kB", "8.33", "1"]
    (poor,) = cells(made, "delta, f16")
    assert set(poor[1:]) == {"never", "–"}
    assert one_sided(made) == []


def test_a_run_that_diverged_is_told(tmp_path: Path) -> None:
    lost = [*DENSE[:24], {"what": "stop", "at": 11.0, "reason": "diverged"}]
    entries = {("4 liars", "mean", "0.1"): [lost] * 3, ("4 liars", "krum", "0.1"): [DENSE] * 3}
    made = tables(played(tmp_path, "byzantine", entries))
    assert [line[1] for line in (*cells(made, "mean"), *cells(made, "krum"))] == ["yes", "no"]


@pytest.mark.parametrize("value", ["10%", "0.5%"])
def test_a_point_of_a_grid_is_named_once(tmp_path: Path, value: str) -> None:
    entry = f"AdaComp, c = {value}"
    folder = played(tmp_path, "headline", {("w", entry, "0.1"): [SPARSE]})
    (row,) = open_study(folder).rows
    assert (row.name, row.algorithm, row.over) == (entry, "AdaComp", (("c", value),))
