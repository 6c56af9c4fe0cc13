"""Requests to the box: read back, and refused with a reason."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.shaping.box.link_request import (
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
from tests.shaping.box.hostile_requests import HOSTILE, attach_up

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
        side = decode(attach_up(**{key: value})).link.up
    except RefusedRequestError:
        return
    assert side.rate is None or 100 <= side.rate < 100e9
    assert 0 <= side.delay <= 3600
    assert 0 <= side.loss <= 1
