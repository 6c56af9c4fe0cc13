"""Devices that stand still in virtual time: they compute and send nothing, and then go on."""

from pathlib import Path

import pytest

from analysis import read as read_run
from analysis.facts.faults import outages
from analysis.pages.run_warnings import warnings
from tests.fakes.plain_records import PlainRecord, read
from tests.fakes.virtual_world import SCENARIO, played

CALM = SCENARIO.partition("faults:")[0]
WORK = "virtual={learner: none, step: 20ms, boot: 400ms, tcp: false}"
SHORT = "stop={time: 12s}"


def world(tmp_path: Path, *faults: str, overrides: tuple[str, ...] = ()) -> list[PlainRecord]:
    """The records of a run of twelve seconds with these faults, which has nothing to hide."""
    text = CALM + "faults:\n" + "".join(f"  - {{{fault}}}\n" for fault in faults)
    folder, summary, _ = played(tmp_path, WORK, SHORT, *overrides, text=text)
    assert summary["outcome"] == "success"
    assert warnings(read_run(folder)) == []
    return list(read(folder / "run.jsonl"))


def updates(records: list[PlainRecord], node: str) -> list[float]:
    return [r["at"] for r in records if r["what"] == "update" and r["node"] == node]


def hellos(records: list[PlainRecord], node: str) -> list[int]:
    return [r["incarnation"] for r in records if r["what"] == "hello" and r["node"] == node]


def within(times: list[float], since: float, until: float) -> list[float]:
    return [at for at in times if since < at < until]


PAUSE = "kind: pause, nodes: [fiber-0], at: 2s, lasts: 3s"


def test_a_paused_device_makes_no_update_and_goes_on_as_the_same(tmp_path: Path) -> None:
    records = world(tmp_path, PAUSE)
    times = updates(records, "fiber-0")
    assert within(times, 1.5, 2.0) and within(times, 5.0, 5.3)
    assert not within(times, 2.1, 5.0)  # what had left before still arrived
    assert within(updates(records, "fiber-1"), 2.1, 5.0)
    assert hellos(records, "fiber-0") == [0]
    struck = [r for r in records if "begins" in r]
    assert [(r["what"], r["at"], r["begins"]) for r in struck] == [
        ("pause", 2.0, True),
        ("resume", 5.0, False),
    ]
    assert {(r["node"], r["fault"]) for r in struck} == {("fiber-0", "pause")}


def test_a_pause_prolongs_the_work_that_it_interrupts(tmp_path: Path) -> None:
    """As the wall's clock has it, which a worker in a container measures by, too."""
    records = world(tmp_path, PAUSE, overrides=("devices[1].profile={cpu: 100%}",))
    own = [r["compute"] for r in records if r["what"] == "update" and r["node"] == "fiber-0"]
    assert sum(seconds > 3 for seconds in own) <= 1
    assert {round(seconds, 6) for seconds in own} <= {0.02, 3.02}


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "at",
    [
        pytest.param(round(2 + step / 250, 3), marks=pytest.mark.slow if step % 3 else ())
        for step in range(12)
    ],
)
def test_wherever_a_pause_meets_a_device_it_goes_on(tmp_path: Path, at: float) -> None:
    """While it computes, sends, or waits: it makes about as many updates as time was left for."""
    records = world(tmp_path, f"kind: pause, nodes: [fiber-0], at: {at}s, lasts: 3s")
    times = updates(records, "fiber-0")
    assert not within(times, at + 0.1, at + 3) and within(times, at + 3, at + 3.3)
    paces = [len(within(times, *span)) for span in ((0.5, 2.0), (6.0, 7.5))]
    assert paces[0] == pytest.approx(paces[1], abs=2)


@pytest.mark.slow
def test_a_device_that_was_paused_for_long_asks_anew(tmp_path: Path) -> None:
    """The server has given its connection up by then, as that of a device that is cut off."""
    records = world(
        tmp_path,
        "kind: pause, nodes: [fiber-0], at: 2s, lasts: 30s",
        "kind: pause, nodes: [fiber-1], at: 2s, lasts: 5s",
        overrides=("stop={time: 40s}",),
    )
    times = updates(records, "fiber-0")
    assert not within(times, 2.1, 32.0) and within(times, 32.0, 33.0)
    assert hellos(records, "fiber-0") == [0]


CUT = "kind: partition, nodes: [fiber-0]"


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("cut", "quiet"),
    [
        (f"{CUT}, at: 1s, lasts: 2s", (1.1, 5.0)),
        (f"{CUT}, at: 3s, lasts: 1s", (2.1, 5.0)),
        (f"{CUT}, at: 4s, lasts: 2s", (2.1, 6.0)),
        (f"{CUT}, at: 1s, lasts: 5s", (1.1, 6.0)),
    ],
)
def test_a_pause_and_a_cut_may_overlap(
    tmp_path: Path, cut: str, quiet: tuple[float, float]
) -> None:
    records = world(tmp_path, PAUSE, cut)
    times = updates(records, "fiber-0")
    assert not within(times, *quiet) and within(times, quiet[1], quiet[1] + 0.5)
    assert hellos(records, "fiber-0") == [0]


@pytest.mark.slow
@pytest.mark.parametrize("cut", [(1, 13), (5, 18), (1, 30), (14, 26), (14, 15)])
def test_so_may_long_ones(tmp_path: Path, cut: tuple[int, int]) -> None:
    """Of which either outlasts the connection, alone or with the other."""
    begin, end = cut
    records = world(
        tmp_path,
        "kind: pause, nodes: [fiber-0], at: 2s, lasts: 18s",
        f"{CUT}, at: {begin}s, lasts: {end - begin}s",
        f"{CUT}, at: {end + 1}s, lasts: 1s",
        overrides=("stop={time: 45s}",),
    )
    times, until = updates(records, "fiber-0"), max(20, end, end + 2 if end > 18 else 0)
    assert not within(times, 2.1, max(20, end)) and within(times, until, until + 3)
    assert hellos(records, "fiber-0") == [0]


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("begin", "end", "back"), [(3, 4, 5.0), (1, 3, 5.0), (4, 7, 7.0), (1, 7, 7.0)]
)
def test_a_device_that_crashes_in_a_pause_boots_once_both_are_over(
    tmp_path: Path, begin: int, end: int, back: float
) -> None:
    crash = f"kind: crash, nodes: [fiber-0], at: {begin}s, lasts: {end - begin}s"
    records = world(tmp_path, PAUSE, crash, overrides=("devices[1].profile={cpu: 100%}",))
    times = updates(records, "fiber-0")
    assert not within(times, min(begin, 2) + 0.1, back + 0.4)
    assert within(times, back + 0.4, back + 0.8)
    (hello,) = [r for r in records if r["what"] == "hello" and r["incarnation"] == 1]
    assert hello["at"] == pytest.approx(back + 0.4, abs=0.1)


DRAWN = """
description: Freezes at random.
source: None.
faults:
  - {kind: pause, per_iteration: 3%, lasts: {uniform: [200ms, 1s]}}
  - {kind: pause, every: {exponential: 3s}, lasts: {exponential: 500ms}}
  - {kind: crash, every: {exponential: 5s}, lasts: 500ms}
  - {kind: partition, every: {exponential: 4s}, lasts: {uniform: [100ms, 1s]}}
"""


@pytest.mark.slow
def test_pauses_in_a_profile_are_drawn_and_repeat_to_the_byte(tmp_path: Path) -> None:
    (tmp_path / "drowsy.yaml").write_text(DRAWN)
    text = CALM.replace("link: fios}", f"link: fios, failures: [{tmp_path / 'drowsy.yaml'}]}}")
    runs = [
        played(tmp_path / str(cores), "stop={time: 20s}", text=text, cores=cores)
        for cores in (1, 2)
    ]
    first, again = [(folder / "run.jsonl").read_bytes() for folder, *_ in runs]
    assert first == again
    folder, summary, _ = runs[0]
    records = [r for r in read(folder / "run.jsonl") if "begins" in r]
    assert sum(r["begins"] for r in records if r["fault"] == "pause") > 10
    realised = summary["faults_realised"] + summary["faults_drawn"]
    assert realised == sum(r["begins"] for r in records)
    run = read_run(folder)
    assert len(outages(run)) == realised
    for outage in outages(run).query("fault == 'pause'").itertuples():
        times = updates(list(read(folder / "run.jsonl")), outage.node)
        assert not within(times, outage.at + 0.1, outage.until)


def test_a_fault_that_is_drawn_as_another_ends_stands_behind_that_end(tmp_path: Path) -> None:
    """A model waits for a paused device; the iteration that it begins ends in the next pause."""
    drawn = "{kind: pause, per_iteration: 100%, lasts: 50ms}"
    text = CALM.replace("fios}", f"fios, failures: [{{name: often, faults: [{drawn}]}}]}}")
    times = [round(1 + number / 10, 1) for number in range(20)]
    aimed = [f"  - {{kind: pause, nodes: [fiber], at: {at}s, lasts: 51ms}}" for at in times]
    text = "\n".join([text + "faults:", *aimed])
    folder, *_ = played(tmp_path, WORK, "stop={time: 4s}", text=text)
    for node in ("fiber-0", "fiber-1"):
        records = [r for r in read(folder / "run.jsonl") if r.get("node") == node]
        turns = [r["begins"] for r in records if "begins" in r]
        assert len(turns) > 40
        assert turns == [place % 2 == 0 for place in range(len(turns))]


def test_a_run_of_which_all_devices_are_paused_for_good_ends(tmp_path: Path) -> None:
    text = CALM + "faults:\n  - {kind: pause, nodes: [adsl, fiber], at: 2s}\n"
    _, summary, _ = played(tmp_path, WORK, "stop={updates: 100000}", text=text)
    assert summary["outcome"] == "failed"
    assert summary["detail"] == "every device is down, cut off or paused for good"
    assert summary["duration_s"] == pytest.approx(3.0)
