"""Runs in virtual time that pull and push in segments: the same bits, and faults between pieces."""

from itertools import groupby
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest

from emulator.codecs import Dense, TopK
from emulator.core.wire.messages import UpdateSegment
from emulator.costs import calibration
from emulator.costs.calibration import LayerSeconds
from emulator.runtimes.virtual.learning.traffic_only import ExpectedSizeCodec
from emulator.scenario import load
from emulator.units import Fraction
from tests.fakes.plain_records import PlainRecord, read
from tests.fakes.virtual.layered_world import (
    LAYERED,
    SCHEDULES,
    computed_pieces,
    iterations,
    losses,
    staged_pieces,
)
from tests.fakes.virtual.segmented_device import layers
from tests.fakes.virtual_world import played

BARRIER = "training.synchronization=barrier"


def records(folder: Path) -> list[PlainRecord]:
    return list(read(folder / "run.jsonl"))


# -- the same numbers in another order of transport ------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("training.codec={kind: topk, keep: 5%}", "training.error_feedback=true"),
        pytest.param(("training.codec=adacomp-residual",), marks=pytest.mark.slow),
        pytest.param(("training.codec=terngrad", "training.pull=delta"), marks=pytest.mark.slow),
        ("training.optimizer=adam", "training.learning_rate=0.01", "training.pull=delta"),
        pytest.param(("training.codec=onebit",), marks=pytest.mark.slow),
        pytest.param(("training.codec={kind: dryden, keep: 5%}",), marks=pytest.mark.slow),
    ],
    ids=lambda overrides: ",".join(overrides) or "dense",
)
def test_all_schedules_train_the_same_model_to_the_bit(
    tmp_path: Path, overrides: tuple[str, ...]
) -> None:
    """Though updates of a round arrive in another order."""
    runs = {}
    for schedule in SCHEDULES:
        chosen = f"training.schedule={schedule}"
        folder, summary, _ = played(tmp_path, BARRIER, chosen, *overrides, text=LAYERED)
        assert (summary["outcome"], summary["updates"]) == ("success", 200)
        assert summary["final_accuracy"] > 0.9
        runs[schedule] = losses(records(folder)), (folder / "model.npz").read_bytes()
    for schedule in SCHEDULES[1:]:
        assert runs[schedule] == runs["sequential"], schedule


def test_segments_end_a_run_earlier(tmp_path: Path) -> None:
    """Transfer overlaps computing; no plan is slower than the whole model in one message."""
    spent = {}
    for schedule in SCHEDULES:
        chosen = ("virtual.step=300ms", f"training.schedule={schedule}", "virtual.learner=none")
        _, summary, _ = played(tmp_path, BARRIER, *chosen, "stop.updates=50", text=LAYERED)
        spent[schedule] = summary["duration_s"]
    assert spent["dynacomm"] < 0.9 * spent["sequential"]
    assert spent["dynacomm"] <= min(spent.values()) * (1 + 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["numpy", "none"])
def test_a_layered_run_repeats_with_any_number_of_threads(tmp_path: Path, learner: str) -> None:
    text = LAYERED.replace("tcp: false", "tcp: true").replace(
        "learner: numpy", f"learner: {learner}"
    )
    faults = (
        "faults=[{kind: crash, nodes: [slow-0], at: 3s, lasts: 1s}, "
        "{kind: partition, nodes: [fast], at: 2s, lasts: 1s}, "
        "{kind: pause, nodes: [fast-1, slow-1], at: 4s, lasts: 1s}]"
    )
    codec = ("training.codec={kind: topk, keep: 5%}", "training.error_feedback=true")
    logs = set()
    for cores in (1, 1, 3):
        folder, summary, _ = played(tmp_path, faults, *codec, text=text, cores=cores)
        assert summary["outcome"] == "success"
        logs.add((folder / "run.jsonl").read_bytes())
    assert len(logs) == 1


def test_a_whole_update_and_its_pieces_have_the_same_bytes_but_for_heads(tmp_path: Path) -> None:
    sizes = {}
    for schedule in ("sequential", "layer-by-layer"):
        chosen = (f"training.schedule={schedule}", "virtual.learner=none")
        folder, *_ = played(tmp_path, *chosen, text=LAYERED)
        (sizes[schedule],) = {
            (r["values"], r["indices"], r["entries"])
            for r in records(folder)
            if r["what"] == "update"
        }
    assert sizes["sequential"] == sizes["layer-by-layer"]


# -- plans and what came of them -------------------------------------------------------------------


@pytest.mark.slow
def test_what_comes_of_a_plan_is_what_it_foretold(tmp_path: Path) -> None:
    """On ideal links with a fixed step: to the few bytes by which the numbers in heads grow."""
    chosen = ("training.schedule={kind: dynacomm, replan: 10}", "virtual.step=20ms")
    links = "devices=[{name: one, link: {up: {rate: 8mbit, setup: 2ms, delay: 5ms}, "
    links += "down: {rate: 4mbit, setup: 1ms, delay: 3ms}}}, {name: other}]"
    folder, *_ = played(tmp_path, *chosen, links, "stop.updates=300", text=LAYERED)
    came = [r for r in records(folder) if r["what"] == "iteration"]
    assert {r["node"] for r in came} == {"one", "other"}
    for r in [r for r in came if r["iteration"] > 20]:
        assert r["t_forward"] == pytest.approx(r["predicted_forward"], abs=1e-5)
        assert r["t_backward"] == pytest.approx(r["predicted_backward"], abs=1e-5)
        assert r["t_iteration"] == pytest.approx(r["predicted_iteration"], abs=1e-4)


@pytest.mark.slow
def test_records_stand_in_the_order_of_time(tmp_path: Path) -> None:
    folder, *_ = played(tmp_path, text=LAYERED)
    times = [r["at"] for r in records(folder)]
    assert times == sorted(times)
    assert {"plan", "iteration"} <= {r["what"] for r in records(folder)}


def test_a_sequential_schedule_logs_no_plan(tmp_path: Path) -> None:
    folder, *_ = played(tmp_path, "training.schedule=sequential", text=LAYERED)
    assert not {"plan", "iteration"} & {r["what"] for r in records(folder)}


# -- faults between the pieces ---------------------------------------------------------------------


def struck(kind: str, lasts: str, devices: int) -> str:
    """A world of as many devices as moments, each struck at its own."""
    dice = Random(f"moments of {kind}")
    moments = [f"nodes: [device-{n}], at: {dice.uniform(2, 6):.6f}s" for n in range(devices)]
    faults = "".join(f"  - {{kind: {kind}, {moment}, lasts: {lasts}}}\n" for moment in moments)
    text = LAYERED.partition("devices:")[0].replace("stop: {updates: 200}", "stop: {time: 12s}")
    text = text.replace("learner: numpy", "learner: none").replace("dynacomm", "layer-by-layer")
    link = "{up: {rate: 1mbit, setup: 20ms, delay: 40ms}, down: {rate: 1mbit, setup: 20ms}}"
    return (
        f"{text}devices:\n  - {{name: device, count: {devices}, link: {link}}}\nfaults:\n{faults}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("devices", [60, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("kind", "lasts"),
    [("crash", "500ms"), ("partition", "300ms"), ("partition", "40s"), ("pause", "700ms")],
)
def test_no_half_update_is_applied_wherever_a_fault_strikes(
    tmp_path: Path, kind: str, lasts: str, devices: int
) -> None:
    """Each of the `devices` is struck at a moment of its own, many of them between two pieces.

    No device computes on pieces of two answers either.
    """
    text = struck(kind, lasts, devices)
    if lasts == "40s":  # long enough for the server to give the connection up
        text = text.replace("stop: {time: 12s}", "stop: {time: 70s}")
    with staged_pieces() as staged, computed_pieces() as computed:
        folder, summary, _ = played(tmp_path, text=text)
    assert summary["outcome"] == "success"
    for iteration in iterations(computed):
        assert [piece.segment[0] for piece in iteration] == [*range(1, len(iteration) + 1)]
        assert len({(piece.ticket, piece.version, id(piece.handle)) for piece in iteration}) == 1
    broken_off = sum(len(iteration) < 3 for iteration in iterations(computed))
    if (kind, lasts) in (("crash", "500ms"), ("partition", "40s")):
        assert broken_off > devices / 20  # that many were struck between two pieces of a pull
    struck_devices, unfinished = set(), 0
    staged.sort(key=lambda item: (item.piece.node, item.now))
    for node, items in groupby(staged, key=lambda item: item.piece.node):
        pieces: list[UpdateSegment] = []
        for item in items:
            if item.piece.segment == (3, 3):  # a new update begins
                unfinished += bool(pieces)
                pieces = []
            pieces.append(item.piece)
            if item.completes:
                assert [piece.segment for piece in pieces] == [(3, 3), (2, 2), (1, 1)]
                assert len({(piece.ticket, piece.version) for piece in pieces}) == 1
                pieces = []
        struck_devices.add(node)
    log = records(folder)
    applied = sum(r["what"] == "update" for r in log)
    assert applied == sum(item.completes for item in staged)
    assert len(struck_devices) == devices
    if kind == "crash":
        assert unfinished > devices / 10  # that many were killed between two pieces of a push
    # every device goes on once its fault is over
    ends = {r["node"]: r["at"] for r in log if r["what"] in ("boot", "mend", "resume")}
    last = {r["node"]: r["at"] for r in log if r["what"] == "update"}
    assert len(ends) == devices
    assert all(last[node] > ends[node] for node in ends)


@pytest.mark.slow
def test_a_run_without_shares_takes_those_of_the_calibration_and_keeps_them(tmp_path: Path) -> None:
    seconds = LayerSeconds(
        "host", "processor", "digits-mlp", 8, (2e-3, 1e-3, 5e-4), (4e-3, 1e-3, 0.0)
    )
    text = LAYERED.replace("  layers: {forward: [2, 1, 1], backward: [3, 2, 2]}\n", "")
    with patch.object(calibration, "layer_seconds", lambda *arguments: seconds):
        folder, *_ = played(tmp_path, text=text)
    kept = load(folder / "scenario.yaml").virtual.layers
    assert kept is not None
    assert (kept.forward, kept.backward) == (seconds.forward, seconds.backward)
    again, *_ = played(tmp_path, text=(folder / "scenario.yaml").read_text())
    assert (again / "run.jsonl").read_bytes() == (folder / "run.jsonl").read_bytes()


def test_a_large_network_takes_little_memory_in_traffic_only_runs() -> None:
    """Its frames and gradients are as long as they have to be, in the memory of a single number."""
    layout = layers(300_000, 700_000)
    codec = ExpectedSizeCodec(Dense(), layout)
    (whole,), (piece,) = codec.frames, codec.segment((2, 2))
    assert (len(whole), len(piece)) == (4_000_000, 2_800_000)
    first = codec.decode(codec.segment((1, 1)), layout.part((1, 1)))
    second = codec.decode(codec.segment((2, 2)), layout.part((2, 2)))
    joined = codec.joined([(layout.place((2, 2)), second), (layout.place((1, 1)), first)])
    assert joined.values.size == layout.size
    assert {array.strides for array in (joined.values, first.values, second.values)} == {(0,)}
    assert memoryview(piece).strides == (0,)


def test_made_up_gradients_with_indices_join_as_real_ones() -> None:
    layout = layers(300, 700)
    codec = ExpectedSizeCodec(TopK(keep=Fraction(0.1)), layout)
    segments = ((2, 2), (1, 1))
    parts = [
        (layout.place(segment), codec.decode(codec.segment(segment), layout.part(segment)))
        for segment in segments
    ]
    joined = codec.joined(parts)
    assert joined.indices is not None
    assert joined.indices.tolist() == sorted(set(joined.indices.tolist()))
    assert (len(joined.values), joined.indices[0] < 300, joined.indices[-1] >= 300) == (
        100,
        True,
        True,
    )
