"""Requests to the box: read back, and refused with a reason."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.shaping.box.link_request import (
    LARGEST_REQUEST,
    LinkRequest,
    RefusedRequestError,
    decode,
    encode,
)
from emulator.shaping.playable_link import dilated
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links import reshaping
from emulator.world.links.link import Link, Side
from emulator.world.links.loss_models import Gemodel, LossModel

LINK = Link(
    up=Side(Rate(1e6), Seconds(0.025), Seconds(0.003), Fraction(0.01)), down=Side(Rate(8e6))
)


FULL = Side(
    Rate(1e6),
    Seconds(0.025),
    Seconds(0.003),
    Fraction(0),
    Seconds(0.1),
    distribution="pareto",
    correlation=Fraction(0.2),
    loss_model=LossModel(Gemodel(Fraction(0.01), Fraction(0.2))),
    duplicate=Fraction(0.01),
    corrupt=Fraction(0.01),
    reorder=Fraction(0.1),
    gap=3,
    limit=100,
    overhead=8,
)


def test_requests_are_read_back() -> None:
    assert decode(encode("attach", "adsl-0", LINK, rates=True)) == LinkRequest(
        "attach", "adsl-0", LINK, True
    )
    assert decode(encode("change", "adsl-0", Link())) == LinkRequest("change", "adsl-0", Link())
    assert decode(encode("change", "adsl-0", Link(up=FULL))).link == Link(up=FULL)
    slow = dilated(LINK, 4)
    assert decode(encode("change", "adsl-0", slow)).link == slow != dilated(LINK, 5)
    assert decode(encode("report", "adsl-0")) == LinkRequest("report", "adsl-0")


def _with(**keys: object) -> bytes:
    plain = {"do": "attach", "name": "a", "link": {"up": {}, "down": {}}, **keys}
    return json.dumps(plain).encode()


def _up(**keys: object) -> bytes:
    return _with(link={"up": keys, "down": {}})


HOSTILE = {
    b"": "not JSON",
    b"\xff\xfe": "not JSON",
    b"[" * LARGEST_REQUEST: "not JSON",
    b"9" * LARGEST_REQUEST: "not JSON",
    b"[]": "not a JSON object",
    b"{}": "do: None",
    _with(do="drop"): "do: 'drop' is not attach or change or report or detach",
    _with(do=["attach"]): "do: ",
    _with(extra=1): "attach has no key 'extra'",
    _with(do="report"): "report has no key 'link'",
    _with(name=""): "name: ''",
    _with(name=7): "name: 7",
    _with(name="a" * 129): "name: ",
    _with(name="a\nb"): "name: ",
    _with(rates=1): "rates: 1",
    _with(dilation="4"): "dilation: '4' is not a number",
    _with(dilation=0.5): "dilation: 0.5 is not from 1 to 1000",
    _with(dilation=float("nan")): "dilation: nan",
    _with(link=None): "link: ",
    _with(link={"up": {}}): "link: ",
    _with(link={"up": {}, "down": 3}): "link.down: ",
    _up(rate=0.5): "link.up: ",
    _up(rate=1e12): "link.up: ",
    _up(rate="fast"): "link.up: ",
    _up(rate=[]): "link.up: ",
    _up(speed=1e6): "link.up: ",
    _up(delay=-1): "link.up: ",
    _up(delay=1e9): "link.up: ",
    _up(delay=0.01, jitter=0.02): "link.up: ",
    _up(loss=1.5): "link.up: ",
    _up(setup=1e9): "link.up: ",
    _up(delay=1, jitter=1, distribution="wide"): "link.up: ",
    _up(delay=1, jitter=1, distribution={}): "link.up: ",
    _up(delay=1, jitter=1, correlation=2): "link.up: ",
    _up(duplicate=-0.1): "link.up: ",
    _up(delay=1, reorder=0.1, gap=0): "link.up: ",
    _up(delay=1, reorder=0.1, gap=1e300): "link.up: ",
    _up(limit=-1): "link.up: ",
    _up(rate=1e6, overhead=-2000): "link.up: ",
    _up(steps=[{"at": 1, "rate": 1e6}]): "link.up: ",
    _up(trace={"samples": "0 1e6, end 1", "loop": True, "scale": 1, "start": 0}): "link.up: ",
    _up(loss_model={}): "link.up: ",
    _up(loss_model={"gemodel": {"p": 2}}): "link.up: ",
    _up(loss_model={"gemodel": {"p": 0.1, "r": -0.1}}): "link.up: ",
    _up(loss_model={"gemodel": {"p": 0.1, "1-h": 7}}): "link.up: ",
    _up(loss_model={"state": {"p13": 0.7, "p14": 0.7}}): "link.up: ",
    _up(loss_model={"state": {"p13": []}}): "link.up: ",
    _up(loss_model={"markov": {"p13": 1}}): "link.up: ",
    b'{"do": "attach", "name": "a", "link": {"up": {"delay": NaN}, "down": {}}}': "link.up: ",
    b'{"do": "attach", "name": "a", "link": {"up": {"rate": 1e999}, "down": {}}}': "link.up: ",
}


@pytest.mark.parametrize(("packet", "reason"), HOSTILE.items(), ids=range(len(HOSTILE)))
def test_hostile_requests_are_refused(packet: bytes, reason: str) -> None:
    with pytest.raises(RefusedRequestError) as refused:
        decode(packet)
    assert str(refused.value).startswith(reason) or reason in str(refused.value)
    assert len(str(refused.value)) < 300


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


@pytest.mark.slow
@settings(deadline=None)
@given(up=JSON, name=JSON, do=st.sampled_from(["attach", "change", "report"]) | JSON)
def test_nothing_else_is_raised(up: object, name: object, do: object) -> None:
    with contextlib.suppress(RefusedRequestError):
        decode(json.dumps({"do": do, "name": name, "link": {"up": up, "down": {}}}).encode())


@settings(deadline=None)
@given(
    key=st.sampled_from(sorted(reshaping.plain_side(FULL))),
    value=st.floats() | st.integers() | st.text(max_size=3) | st.booleans(),
)
def test_a_link_that_is_taken_has_numbers_in_range(key: str, value: object) -> None:
    try:
        side = decode(_up(**{key: value})).link.up
    except RefusedRequestError:
        return
    assert side.rate is None or 100 <= side.rate < 100e9
    assert 0 <= side.delay <= 3600
    assert 0 <= side.loss <= 1
