"""The benchmark's own arithmetic; the measuring itself is `make bench`."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

import pytest

from analysis.papers import markdown, publish_measured
from emulator.codecs import AnyCodec
from emulator.codecs.indices import CODINGS as INDICES
from emulator.codecs.values import CODINGS as VALUES
from emulator.log.records import PullRecord
from tests.analysis.drawn_figures import kept
from tests.benchmarks import books, planning, table
from tests.benchmarks.codecs import coding, patches, segments, trained
from tests.benchmarks.containers import compute_groups, overlap
from tests.benchmarks.links import box_loop
from tests.benchmarks.virtual import cost, fleet
from tests.fakes.codecs.segments import LAYERED
from tests.layers import ROOT


def found(others):
    cost = {"workers": 4.0, "server": 1.0, "others": others}
    run = {
        "updates_per_second": 300.0,
        "milliseconds_per_update": cost,
        "others_share": others / (5 + others),
        "private_bytes": {"workers": 80_000_000},
    }
    return {
        "host": {"processor": "a processor", "cores": 2, "kernel": "6.1"},
        "gradient": {"one_core": 500.0, "eight": 800.0},
        "exchange": {
            "up_bytes": 22_000,
            "down_bytes": 1_690_000,
            "plain": 2400.0,
            "encrypted": 400.0,
        },
        "run": {"plain": run, "encrypted": run},
        "coding": {
            1_000_000: {
                "top": {"copy": 0.5, "encode": 2.0},
                "codecs": {"topk": {"encode": 1.0, "decode": 0.5, "bytes": 4321}},
                "indices": {},
                "values": {},
            }
        },
        "segments": {
            "dgc": {
                "whole": 0.5,
                "cut": 0.6,
                "recut": 1.0,
                "whole bytes": 21_000,
                "cut bytes": 20_998,
            }
        },
        "trained": {
            "entries": 4000,
            "least": 8.08,
            "indices": {"gap": {"bits": 8.5, "encode": 0.04, "decode": 0.05}},
            "updates": {"gap, f32": 79.2},
        },
        "patches": {2_000_000: {"f32": 2.0, "f16": 2.24}},
    }


def row(page, name):
    (line,) = [line for line in page.splitlines() if line.strip().startswith(name)]
    return line.removeprefix(" ").split()[len(name.split()) :]


def test_a_run_is_set_beside_what_its_parts_allow():
    page = table.page(found(others=0.0))
    assert row(page, "bound: a gradient and an exchange") == ["600", "267"]
    assert row(page, "share of the bound") == ["50%", "112%"]
    assert row(page, "sum without others") == ["5.00", "5.00"]
    assert row(page, "encode") == ["2.00", "2.0", "4.0"]
    assert row(page, "topk") == ["1.00", "4.0", "2.0", "0.50", "4,321"]
    assert row(page, "4,000 indices") == ["bits", "write,", "us", "read,", "us"]
    assert row(page, "gap ") == ["8.5", "40", "50"]
    assert row(page, "dgc") == ["0.50", "1.20", "2.00", "-2"]
    assert row(page, "gap, f32") == ["79"]
    assert row(page, "2,000,000 parameters") == ["2.0", "2.2"]
    assert "not installed" in page
    assert "WARNING" not in page


def test_figures_of_a_busy_machine_are_doubted():
    page = table.page(found(others=2.0))
    assert "WARNING: other work took up to 29%" in page
    assert "up to 400 and 400" in page


def virtual(point):
    training = {
        "devices": 200,
        "updates": 1000,
        "seconds": 2.4,
        "gradient_seconds": 0.004,
        "bound_seconds": 3.0,
        "bare": 1.1,
        "share_of_heap_links_and_server": 0.15,
    }
    return {
        "training": training,
        "large": {"devices": 10, "updates": 100, "seconds": 2.0, "peak_bytes": 3e6},
        "scaling": {"own": [point], "shared": [point]},
        "figure": "a.png",
    }


POINT = {"devices": 1000, "steady_seconds": 0.5, "steady_events": 100_000}
POINT |= {"peak_bytes": 6e6, "seconds_before": 2.0, "busy_seconds": 3.0}


def test_virtual_time_is_set_beside_its_gradients():
    page = table.page({"host": found(0.0)["host"], "virtual": virtual(POINT)})
    assert row(page, "their gradients alone, s of one core") == ["4.0"]
    assert row(page, "their gradients alone, s on all cores") == ["2.0"]
    assert row(page, "times gradients alone") == ["1.20"]
    assert row(page, "encoding and steps with them, nothing else") == ["1.10"]
    assert row(page, "server's link: own") == ["5.0"]
    assert row(page, "peak memory, kB a device") == ["6.0"]


def test_the_cost_of_an_event_is_drawn_beside_its_law(tmp_path, monkeypatch):
    """From 1,000 to a million devices the logarithm doubles, and so does the law."""
    figures = kept(monkeypatch)
    million = {**POINT, "devices": 1_000_000, "steady_events": 40_000}
    cost.draw({"own": [POINT, million], "shared": [POINT]}, tmp_path / "a.png")
    (panel,) = figures["a.png"].axes
    measured, law, *_ = panel.get_lines()
    assert list(measured.get_xdata()) == list(law.get_xdata()) == [1000, 1_000_000]
    assert list(measured.get_ydata()) == pytest.approx([5, 12.5])
    assert list(law.get_ydata()) == pytest.approx([5, 10])
    assert panel.get_ylabel() == "Time for each event (\N{MICRO SIGN}s)"


def test_a_small_fleet_is_timed(tmp_path):
    took = fleet.traffic(20, 300, fleet.RATED)
    assert took["updates"] == 300
    assert 0 < took["steady_seconds"] < took["seconds"]
    assert took["steady_events"] > 1


def test_the_books_know_who_worked():
    before = books.read({"nodes": []})
    until = time.process_time() + 0.1
    while time.process_time() < until:
        pass
    after = books.read({"nodes": []})
    spent = after.since(before)
    assert spent["conductor"] >= 0.05
    assert spent["nodes"] == 0


def test_private_memory_is_that_of_one_process():
    mine = books.private(os.getpid())
    assert mine is None or 1_000_000 < mine < 10_000_000_000
    assert books.private(2**22 + 1) is None


def test_every_codec_and_coding_is_timed(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    took = coding.measure(coding.flat(20_000), repeats=2)
    assert {"copy", "argpartition, encode", "encode", "decode, apply"} <= took["top"].keys()
    assert took["codecs"].keys() == {codec.kind for codec in get_args(AnyCodec)} | {coding.WARMING}
    warming, warm = took["codecs"][coding.WARMING], took["codecs"]["dgc"]
    assert warming["bytes"] > 100 * warm["bytes"]  # a quarter, and a thousandth
    assert took["indices"].keys() == INDICES.keys()
    assert took["values"].keys() == VALUES.keys()
    assert all(value > 0 for value in took["top"].values())
    assert took["codecs"]["dense"]["bytes"] == 80_000


@pytest.mark.slow
def test_encoding_by_segment_is_timed_and_weighed():
    took = segments.measure(LAYERED, repeats=2)
    assert took.keys() == {codec.kind for codec in get_args(AnyCodec)}
    assert all(min(codec.values()) > 0 for codec in took.values())
    assert took["dense"]["cut bytes"] == took["dense"]["whole bytes"] == 4 * LAYERED.size
    assert took["randomk"]["cut bytes"] == took["randomk"]["whole bytes"] + 3 * 8


def test_planning_is_timed_and_set_beside_the_spans_of_a_plan():
    took = planning.measure((3, planning.PAPERS + 1), repeats=1)
    names = [planning.BASELINE, *planning.SCHEDULES]
    assert [[*row] for row in took.values()] == [names, names]
    (paper,) = [name for name in names if "paper" in name]
    assert took[planning.PAPERS + 1][paper] is None
    took[3] = {planning.BASELINE: 0.01, "dynacomm": 0.02, paper: 0.5, "ibatch": 0.04}
    page = table.page({"host": found(0.0)["host"], "schedules": took})
    lines = [line.split()[-2:] for line in page.splitlines() if line.startswith(f"  {paper}")]
    assert lines == [["0.500", "-"], ["50.0", "-"]]


def test_a_patch_is_timed():
    took = patches.measure(coding.flat(2_000), keep=0.01, repeats=2)
    assert took.keys() == {"f32", "f16"}
    assert min(took.values()) > 0


@pytest.mark.tensorflow
def test_codings_of_a_trained_models_gradient_are_weighed():
    found = trained.measure(repeats=1)
    assert found["indices"].keys() == INDICES.keys()
    assert found["indices"]["u32"]["bits"] == 32
    assert found["indices"]["golomb"]["bits"] < 1.04 * found["least"]
    assert found["indices"]["matrix"]["bits"] < found["indices"]["golomb"]["bits"]
    assert found["updates"]["matrix, ternary"] > found["updates"]["gap, f32"]


@pytest.mark.slow
def test_make_bench_starts() -> None:
    """A folder of `tests/` may bear the name of a package that the benchmarks import."""
    assert "$(BIN)/python -m tests.benchmarks\n" in (ROOT / "Makefile").read_text()
    command = [sys.executable, "-m", "tests.benchmarks", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_iterations_are_read_from_a_log() -> None:
    pulls = [PullRecord(0.5 * number, "d-0", number, 100) for number in range(overlap.LEARNING + 3)]
    pulls.append(PullRecord(0.3, "evaluator", 1, 100))
    found = overlap.iterations(pulls)
    assert found.seconds == pytest.approx(0.5)
    assert (found.deviation, found.cuts) == (None, "")


def test_speed_ups_are_set_beside_sequential() -> None:
    row_of = {"model": "mnist-cnn", "batch": 8, "setup": "0ms", "cuts": "", "deviation": None}
    rows = [
        {**row_of, "schedule": "sequential", "seconds": 0.3},
        {**row_of, "schedule": "dynacomm", "seconds": 0.2, "deviation": 0.02, "cuts": "1-2; 2, 1"},
    ]
    page = table.page({"host": found(0.0)["host"], "overlap": rows})
    assert row(page, "sequential") == ["300.0", "1.00", "-"]
    assert row(page, "dynacomm") == ["200.0", "1.50", "+2.0%", "1-2;", "2,", "1"]


OVERLAPS = [
    {
        "model": "mnist-cnn",
        "batch": 8,
        "setup": setup,
        "schedule": schedule,
        "seconds": seconds,
        "deviation": deviation,
        "cuts": "",
    }
    for setup, deviation, times in [
        ("0ms", 0.02, {"sequential": 0.3, "layer-by-layer": 0.25, "ibatch": 0.2, "dynacomm": 0.2}),
        ("10ms", -0.07, {"sequential": 0.4, "layer-by-layer": 0.5, "ibatch": 0.2, "dynacomm": 0.3}),
    ]
    for schedule, seconds in times.items()
]


def test_schedules_in_containers_have_a_block_in_the_page_of_their_paper(tmp_path: Path) -> None:
    made = [overlap.page_table(OVERLAPS)]
    page = publish_measured("overlap", tmp_path, overlap.claims(OVERLAPS), made, ["a", "b"], {})
    assert page == tmp_path / "papers" / "cai-2021.md"
    found = markdown.block(page, "make table-overlap")
    assert found.startswith("## overlap\n\n**How much sooner does an iteration end in containers")
    assert "**Verdict: partly.**" in found
    slow, fast = "`mnist-cnn`, batch 8, set-up 10 ms", "`mnist-cnn`, batch 8, no set-up"
    assert f"| partly | 0.67 × the best other ({slow}) to 1.00 × the best other ({fast}) |" in found
    assert f"|  | partly | −7.0 % ({slow}) to +2.0 % ({fast}) |" in found
    assert f"| {fast} | 300 ms | 250 ms | 200 ms | 200 ms | 1.50 | +2.0 % |" in found
    assert found.endswith("*Protocol:* a; b.")
    assert "| partly |" in (tmp_path / "papers" / "README.md").read_text()


def test_a_prediction_is_judged_by_group_updates_in_containers() -> None:
    rows = [{"groups": 2, "formula": 0.1, "queue": 0.125, "measured": 0.125}]
    (claim,) = compute_groups.claims(rows)
    assert (claim.verdict, claim.measured) == ("not", "−20.0 % (g = 2)")
    made = compute_groups.page_table(rows)
    assert made.splitlines()[-1] == "| 2 | 100.0 | 125.0 | 125.0 | −20.0 % | +0.0 % |"


def test_group_updates_stand_beside_their_predictions():
    row = {"groups": 2, "formula": 0.1, "queue": 0.125, "measured": 0.11}
    page = table.page({"host": found(0.0)["host"], "groups": [row]})
    assert page.splitlines()[-1].split() == ["2", "100.0", "125.0", "110.0", "+10.0%", "-12.0%"]
    assert compute_groups.loads(compute_groups.SCENARIO).training.batch_size == 128


@pytest.mark.slow
def test_the_box_s_loop_costs_more_than_bare_reads_and_writes():
    found = box_loop.measure(rounds=40)
    assert 1 < found["ratio"] < 50
    assert f"{found['ratio']:.1f}" in "".join(box_loop.lines(found))
