"""The estimators of a link's rate, delay and loss on made-up series, and echoes from strangers."""

import random
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.errors import DeploymentError
from emulator.node.config import Boxed, MeasuredLink
from emulator.node.control_group import cpu_use
from emulator.node.fidelity import echo_wire, link_meter
from emulator.node.fidelity.echo_meter import MOST_OPEN, Delays, EchoMeter, Lost
from emulator.node.fidelity.echo_wire import Answer
from emulator.node.fidelity.link_meter import LinkMeter
from emulator.node.fidelity.queue_counters import Queue, QueueReader, losses, parse, rated
from emulator.node.fidelity.rate_meter import FRAME_BITS, FRAMES, RateMeter
from emulator.node.fidelity.requested import Request, Requested
from emulator.node.link.box_end import BoxEnd
from emulator.shaping.backend import Backend
from emulator.shaping.box import attachment
from emulator.units import Fraction, Rate, Seconds
from emulator.world.emulated_clock import EmulatedClock
from emulator.world.links.link import WAYS, Link, Side
from emulator.world.links.loss_models import Gemodel, LossModel
from emulator.world.links.reshaping import plain

# -- rate ------------------------------------------------------------------------------------------


def _played(
    rate: float, until: float, waits: "list[tuple[float, float]]", asked: float
) -> RateMeter:
    """A meter that has looked, whenever it wanted, at a link that sends at `rate` in `waits`."""
    meter, now = RateMeter(), 0.0
    while now < until:
        busy = sum(max(0.0, min(now, end) - begin) for begin, end in waits if begin < now)
        waiting = any(begin <= now < end for begin, end in waits)
        meter.look(now, Queue(1, "tbf", int(busy * rate / 8), waiting=9000 * waiting), asked)
        assert meter.due > now
        now = meter.due
    return meter


@pytest.mark.parametrize("rate", [250e3, 1e6, 8e6, 100e6])
def test_a_busy_link_has_its_rate(rate: float) -> None:
    busy = _played(rate, 60.0, [(1.0, 50.0)], rate).take()
    assert busy.bits / busy.seconds == pytest.approx(rate, rel=0.005)
    assert busy.requested == pytest.approx(busy.seconds * rate)
    assert busy.seconds > 3 * FRAMES * FRAME_BITS / rate


def test_a_link_that_is_slower_than_requested_shows() -> None:
    busy = _played(6e6, 30.0, [(0.0, 30.0)], 8e6).take()
    assert busy.bits / busy.requested == pytest.approx(0.75, rel=0.01)


def test_a_sender_that_pauses_makes_no_link_slow() -> None:
    """Bursts of 30 ms with pauses of 30 ms are no stretch that counts."""
    bursts = [(n * 0.06, n * 0.06 + 0.03) for n in range(500)]
    assert _played(8e6, 30.0, bursts, 8e6).take().seconds == 0


@pytest.mark.parametrize("frames", [20, 48])
@pytest.mark.parametrize("rate", [250e3, 1e6, 2e6, 10e6])
def test_short_messages_add_up(rate: float, frames: int) -> None:
    """Each message waits as a whole, and the link rests until the next."""
    lasts, meter, now = frames * FRAME_BITS / rate, RateMeter(), 0.0
    while now < 120 * lasts:
        whole, part = divmod(now, 1.7 * lasts)
        left = max(0.0, lasts - part)
        sent = (whole + 1) * frames * 1514 - left * rate / 8
        meter.look(now, Queue(1, "tbf", int(sent), waiting=int(left * rate / 8)), rate)
        now = meter.due
    busy = meter.take()
    if frames * FRAME_BITS / rate > 0.05:
        assert busy.stretches >= 5
        assert busy.bits / busy.requested == pytest.approx(1, rel=0.01)


def test_late_looks_at_bursts_make_no_link_slow() -> None:
    """A supervisor at the quota of its container looks when the worker sends, ten times a second.

    A queue that takes 70 ms to be empty rests for 30 ms before the next look.
    """
    meter = RateMeter()
    for look in range(300):
        # 70 ms at 20 mbit, of which nearly all wait when the look comes
        meter.look(0.1 * look, Queue(1, "tbf", 175_000 * look, waiting=170_000), 20e6)
    assert meter.take().seconds == 0


@pytest.mark.parametrize("rate", [1e6, 6e6, 12e6, 50e6, 1e9])
def test_a_bucket_that_fills_up_meanwhile_makes_no_link_miss_its_rate(rate: float) -> None:
    """A link passes nothing until it passes a frame and 2 ms of its rate at once."""
    bucket = 1514 + rate / 8 * 2e-3
    for length in range(2, 100):
        meter, now = RateMeter(), 0.0
        while now <= length * max(0.01, 2 * FRAME_BITS / rate):
            sent = int(now * rate / 8 / bucket) * bucket
            meter.look(now, Queue(1, "tbf", int(sent), waiting=1), rate)
            now = meter.due
        meter.look(now, None, None)
        busy = meter.take()
        assert abs(busy.bits - busy.requested) <= 0.0201 * busy.requested


def test_an_idle_sender_is_looked_at_once_a_second() -> None:
    meter = RateMeter()
    meter.look(5.0, Queue(1, "tbf", 12), 8e6)
    assert (meter.due, meter.take().seconds) == (6.0, 0)


def test_looks_are_few_between_the_series() -> None:
    meter, now, looks = RateMeter(), 0.0, 0
    while now < 100:
        meter.look(now, Queue(1, "tbf", int(now * 1e6), waiting=1), 8e6)
        now, looks = meter.due, looks + 1
    assert looks < 1500


def test_a_stretch_ends_where_the_request_changes() -> None:
    meter = RateMeter()
    for step in range(50):
        now = step * 0.02
        meter.look(now, Queue(1, "tbf", int(now * 1e6), waiting=1), 8e6 if step < 25 else 4e6)
    assert meter.take().requested == pytest.approx(0.48 * 8e6)


def test_no_queue_and_no_rate_are_no_error() -> None:
    meter = RateMeter()
    meter.look(0.0, None, 8e6)
    meter.look(1.0, Queue(1, "tbf", waiting=1), None)
    assert meter.take().seconds == 0


# -- echoes ----------------------------------------------------------------------------------------


def test_delay_and_jitter_are_those_of_the_echoes() -> None:
    delays, draw = Delays(), random.Random(1)
    for _ in range(5000):
        delays.add(draw.gauss(0.05, 0.005), 0.05, 0.005)
    assert delays.mean == pytest.approx(0.05, abs=3e-4)
    assert delays.deviation == pytest.approx(0.005, rel=0.03)


def test_a_request_that_changes_is_no_jitter() -> None:
    delays = Delays()
    for step in range(100):
        delays.add(0.02 + step * 1e-3, 0.02 + step * 1e-3, 0.0)
    assert delays.deviation == pytest.approx(0, abs=1e-9)


def test_a_late_echo_is_counted_apart() -> None:
    delays = Delays()
    for delay in (0.05, 0.05, 0.111):
        delays.add(delay, 0.05, 0.005)
    assert (delays.count, delays.late, delays.mean) == (2, 1, pytest.approx(0.05))


def _answer(session: bytes, number: int, heard: int) -> Answer:
    return Answer(session, number, heard, 0, 0, 0)


def test_losses_are_told_apart_by_direction() -> None:
    """Of ten questions the server hears seven, and four answers come back."""
    meter = EchoMeter.named(b"session!")
    numbers = [meter.ask(0, None) for _ in range(10)]
    heard = [numbers[place] for place in (0, 2, 3, 5, 6, 8, 9)]
    for place, number in enumerate(heard, 1):
        if place in (1, 3, 5, 7):
            assert meter.take(_answer(b"session!", number, place))
    assert meter.losses() == (Lost(10, 3), Lost(7, 3))
    assert meter.losses() == (Lost(), Lost())


def test_answers_that_nobody_asked_for_do_nothing() -> None:
    meter = EchoMeter.named(b"session!")
    number = meter.ask(0, "state")
    for stranger in (_answer(b"another!", number, 1), _answer(b"session!", number + 7, 1)):
        assert meter.take(stranger) is None
    asked = meter.take(_answer(b"session!", number, 4_000_000_000))
    assert asked is not None and asked.state == "state"
    assert meter.take(_answer(b"session!", number, 1)) is None  # it comes twice
    assert meter.losses() == (Lost(), Lost())


def test_a_silent_server_costs_no_memory() -> None:
    meter = EchoMeter.named(b"session!")
    for _ in range(10 * MOST_OPEN):
        meter.ask(0, None)
    assert len(meter.open) == MOST_OPEN


# -- strangers -------------------------------------------------------------------------------------


@given(st.binary(max_size=80))
def test_a_datagram_of_any_bytes_is_read_or_refused(data: bytes) -> None:
    asked, told = echo_wire.read_question(data), echo_wire.read_answer(data)
    assert (asked is None) == (told is None)
    assert asked is None or len(data) == echo_wire.SIZE


def test_a_question_and_its_answer_have_the_same_size() -> None:
    """Nobody makes the server send more than he sends himself."""
    session = b"12345678"
    asked = echo_wire.question(session, 7)
    told = Answer(session, 7, 3, 2**62, 2**62 + 1, echo_wire.UP_WAITS)
    assert len(asked) == len(echo_wire.answer(told)) == echo_wire.SIZE
    assert echo_wire.read_question(asked) == (session, 7)
    assert echo_wire.read_answer(echo_wire.answer(told)) == told


# -- requests --------------------------------------------------------------------------------------


def test_a_path_has_both_sides() -> None:
    link = Link(Side(Rate(1e6), Seconds(0.025), Seconds(0.003), Fraction(0.1)), Side(Rate(8e6)))
    server = Link(down=Side(Rate(1e9), Seconds(0.002), Seconds(0.002), Fraction(0.1)))
    request = Request(MeasuredLink(plain(link), plain(server)))
    up = request.way("up")
    assert (up.rate, up.delay, up.held) == (1e6, pytest.approx(0.027), 0)
    assert up.jitter == pytest.approx((0.003**2 + 0.002**2) ** 0.5)
    assert up.loss == pytest.approx(0.19)
    assert request.way("down") == Requested(8e6, 0.0, 0.0, 0.0)
    assert request.slowest() == 1e6
    held = Request(MeasuredLink(plain(link), plain(server), delayed=False)).way("up")
    assert (held.delay, held.jitter, held.held) == (0, 0, pytest.approx(0.027))


def test_the_moments_of_netem_s_keys() -> None:
    bursts = Side(loss_model=LossModel(Gemodel(Fraction(0.01), Fraction(0.25))))
    assert Request(MeasuredLink(plain(Link(bursts)))).way("up").bursts
    uniform = Side(delay=Seconds(0.1), jitter=Seconds(0.03), distribution="uniform")
    hasty = Side(delay=Seconds(0.1), reorder=Fraction(0.25))
    request = Request(MeasuredLink(plain(Link(uniform, hasty))))
    assert request.way("up").jitter == pytest.approx(0.03 / 3**0.5)
    assert request.way("down").delay == pytest.approx(0.075)
    assert request.way("down").jitter == pytest.approx((0.25 * 0.75) ** 0.5 * 0.1)


def test_a_slower_world_is_measured_in_its_own_seconds() -> None:
    """80 real ms are 20 emulated ms where an emulated second takes four."""
    link = Link(Side(delay=Seconds(0.02)))
    meter = LinkMeter(MeasuredLink(plain(link)), "127.0.0.1", EmulatedClock(4.0))
    told: list[dict[str, Any]] = []
    try:
        meter._add("up", 80_000_000)
        meter.report(0.0, lambda report: told.append(report.facts()), last=True)
    finally:
        meter.close()
    (report,) = told
    assert (report["delay"], report["requested_delay"], report["echoes"]) == (0.02, 0.02, 1)


def test_the_last_report_has_the_stretch_that_still_lasts() -> None:
    """Packets wait until the end; bytes and seconds are those between first and last look."""
    link = Link(Side(Rate(8e6)))
    meter = LinkMeter(MeasuredLink(plain(link)), "127.0.0.1")
    told: list[dict[str, Any]] = []
    try:
        for step in range(26):
            at = step * 0.02
            meter._rates["up"].look(at, Queue(1, "tbf", int(at * 1e6), waiting=9000), 8e6)
        meter.report(0.6, lambda report: told.append(report.facts()), last=True)
    finally:
        meter.close()
    (up,) = told
    assert (up["busy"], up["rate"]) == (0.5, pytest.approx(8e6))


def test_echoes_under_way_outlive_a_new_rate_but_no_new_delay() -> None:
    slow = Link(Side(Rate(1e6), Seconds(0.02)))
    meter = LinkMeter(MeasuredLink(plain(slow)), "127.0.0.1")
    try:
        meter.tick(0.0, slow, cut=False)
        session = meter._echoes.session
        meter.tick(0.1, Link(Side(Rate(2e6), Seconds(0.02))), cut=False)
        assert meter._echoes.session is session
        meter.tick(0.2, Link(Side(Rate(2e6), Seconds(0.05))), cut=False)
        assert meter._echoes.session is not session
        session = meter._echoes.session
        meter.tick(0.3, Link(Side(Rate(2e6), Seconds(0.05))), cut=True)
        assert meter._echoes.session is not session
    finally:
        meter.close()


@pytest.mark.parametrize(
    ("sent", "received", "heard"),
    [(0, 1, {"up", "down"}), (1, 1, {"down"}), (0, 2, {"up"}), (1, 5, set())],
)
def test_with_jitter_an_echo_close_behind_other_packets_measures_no_delay(
    monkeypatch: pytest.MonkeyPatch, sent: int, received: int, heard: set[str]
) -> None:
    """The packets are those of the 40 ms before the question, and those until the answer."""
    side = Side(delay=Seconds(0.02), jitter=Seconds(0.01))
    meter = LinkMeter(MeasuredLink(plain(Link(side, side))), "127.0.0.1")
    counts, said = [(7, 7), (7, 7 + sent), (7 + received, 8 + sent)], list[dict[str, Any]]()
    monkeypatch.setattr(link_meter, "interface_packets", lambda: counts.pop(0))
    session = meter._echoes.session.name
    told = Answer(session, 1, 1, echo_wire.stamp() + 20_000_000, 0, 0)
    arrival = echo_wire.answer(told), 20_000_000, ("127.0.0.1", echo_wire.PORT)
    monkeypatch.setattr(link_meter, "receive", lambda source: arrival)
    try:
        meter._next = 0.0
        meter.tick(1.0, None, cut=False)
        assert meter._next == pytest.approx(1.04)
        assert meter._echoes.session.sent == 0
        meter.tick(1.04, None, cut=False)
        assert meter._echoes.session.sent == 1
        meter.hear()
        meter.report(2.0, lambda report: said.append(report.facts()), last=True)
    finally:
        meter.close()
    assert {facts["way"] for facts in said if facts["echoes"] == 1} == heard


@pytest.mark.parametrize("server", [Link(), Link(up=Side(loss=Fraction(0.1)))])
def test_the_box_counts_what_it_loses_unless_the_server_s_side_loses_too(server: Link) -> None:
    lossy = Side(loss=Fraction(0.1))
    counts = {"up": (1000, 90), "down": (500, 60)}
    measured = MeasuredLink(plain(Link(lossy, lossy)), plain(server))
    meter = LinkMeter(measured, "127.0.0.1", box_losses=lambda: dict(counts))
    told: list[dict[str, Any]] = []
    try:
        for _ in range(2):
            meter.report(0.0, lambda report: told.append(report.facts()), last=True)
            counts["up"] = (1500, 140)
    finally:
        meter.close()
    lost = [(report["way"], report["packets"], report["lost"]) for report in told]
    if server.shaped:
        assert lost == 2 * [("up", 0, 0), ("down", 0, 0)]  # echoes count, and none left
    else:
        assert lost[:3] == [("up", 1000, 90), ("down", 500, 60), ("up", 500, 50)]
        assert lost[3] == ("down", 0, 0)


def test_a_loss_is_compared_with_the_packets_of_the_times_in_which_it_was_in_force() -> None:
    clean, lossy = Link(Side(delay=Seconds(0.02))), Link(Side(loss=Fraction(0.1)))
    counts, told = {}, []
    meter = LinkMeter(
        MeasuredLink(plain(clean), plain(Link())), "127.0.0.1", box_losses=lambda: dict(counts)
    )

    def play(at: float, up: tuple[int, int], link: Link, *, cut: bool = False) -> None:
        """Let the box count up to `up`, and then change the link."""
        counts["up"] = up
        meter.tick(at, link, cut=cut)

    try:
        play(0.0, (0, 0), clean)
        play(0.1, (5000, 0), lossy)
        play(0.2, (5400, 40), lossy, cut=True)
        play(0.3, (5900, 540), lossy)
        play(0.4, (6000, 552), clean)
        counts["up"] = (9000, 552)
        meter.report(0.5, lambda report: told.append(report.facts()), last=True)
    finally:
        meter.close()
    up = told[0]
    assert (up["packets"], up["lost"], up["requested_loss"]) == (500, 52, pytest.approx(0.1))


def test_a_box_that_does_not_answer_counts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    end = BoxEnd("far", Boxed({"up": {}, "down": {}}, Backend(delay="packets").plain()))
    monkeypatch.setattr(end, "_box", None, raising=False)
    answer: dict[str, Any] = {way: {"packets": 9, "lost": 2, "corrupted": 1} for way in WAYS}
    monkeypatch.setattr(attachment, "report", lambda box, name: answer)
    assert end.losses() == {"up": (9, 3), "down": (9, 3)}
    del answer["up"]["lost"]
    assert end.losses() == {}

    def ended(box: object, name: str) -> None:
        raise DeploymentError("the packet box does not answer: it ended")

    monkeypatch.setattr(attachment, "report", ended)
    assert end.losses() == {}


# -- the kernel's counters -------------------------------------------------------------------------


def _attribute(kind: int, content: bytes) -> bytes:
    padding = bytes(-len(content) % 4)
    return struct.pack("=HH", 4 + len(content), kind) + content + padding


def test_a_queue_is_read_from_the_kernel_s_bytes() -> None:
    basic = _attribute(1, struct.pack("=QIxxxx", 123_456_789_012, 42))
    waiting = _attribute(3, struct.pack("=IIIII", 3, 4542, 7, 0, 9))
    told = struct.pack("=BxxxiIII", 0, 5, 0x504E0000, 0xFFFFFFFF, 1)
    told += _attribute(1, b"tbf\0") + _attribute(7, basic + waiting)
    assert parse(told) == Queue(5, "tbf", 123_456_789_012, 42, 4542, 7)


@given(st.binary(min_size=20, max_size=200))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    parse(data)


def test_this_kernel_lists_its_queues() -> None:
    reader = QueueReader()
    try:
        assert all(queue.kind for queue in reader.read())
        assert all(queue.kind for queue in reader.read())
    finally:
        reader.close()


def test_the_queue_with_the_rate_is_found_by_its_direction() -> None:
    queues = [Queue(2, "htb"), Queue(2, "tbf", 5), Queue(2, "ingress"), Queue(3, "tbf", 6)]
    assert rated(queues, 2, outgoing=True) == queues[1]
    assert rated(queues, 2, outgoing=False) == queues[3]
    assert rated(queues, 9, outgoing=True) is None


def test_packets_are_lost_by_netem_and_in_the_blackhole() -> None:
    queues = [
        Queue(2, "htb", packets=90),
        Queue(2, "blackhole", drops=10),
        Queue(3, "tbf", drops=4),
    ]
    assert losses(queues, 2, outgoing=True) == (100, 10)
    assert losses(queues, 2, outgoing=False) is None  # a full queue is no loss by chance


@pytest.mark.parametrize(
    "files",
    [
        {"cpu.stat": "usage_usec 1500000\nnr_throttled 3\nthrottled_usec 250000\n"},
        {
            "cpu/cpu.stat": "nr_periods 9\nnr_throttled 3\nthrottled_time 250000000\n",
            "cpuacct/cpuacct.usage": "1500000000\n",
        },
    ],
    ids=["version 2", "version 1"],
)
def test_processor_time_comes_from_the_control_group(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert cpu_use(tmp_path) == [1.5, 0.25]


@pytest.mark.parametrize(
    ("pressure", "told"),
    [
        ("some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 total=9\n", [2.5]),
        ("", []),
        (None, []),
    ],
)
def test_waits_for_a_core_come_from_the_pressure_where_the_kernel_tells(
    tmp_path: Path, pressure: str | None, told: list[float]
) -> None:
    (tmp_path / "cpu.stat").write_text("usage_usec 1500000\nthrottled_usec 250000\na newer line\n")
    if pressure is not None:
        (tmp_path / "cpu.pressure").write_text(pressure)
    assert cpu_use(tmp_path) == [1.5, 0.25, *told]


def test_a_system_without_control_groups_tells_nothing(tmp_path: Path) -> None:
    assert cpu_use(tmp_path) is None
