"""Kinds of faults that change a device's link or its messages, seen from outside."""

import re
from itertools import pairwise
from statistics import median

import pytest

from emulator.core.wire import MISMATCH
from tests.containers.kinds.fleet import DILATION

pytestmark = [pytest.mark.docker, pytest.mark.thorough, pytest.mark.timeout(300)]


UNITS = {"K": 1e3, "M": 1e6}


def rates(text):
    """Return the emulated rates of the device's queues in bit/s, of the uplink first."""
    found = re.findall(r" tbf \S+ dev (\S+) .* rate (\d+)([KM])bit", text)
    ordered = sorted(found, key=lambda each: each[0] != "eth0")
    return tuple(int(number) * UNITS[unit] * DILATION for _, number, unit in ordered)


def behind_the_box(look):
    """Return whether a process in user space delays and loses the packets of a link."""
    return " dev wan " in look.text


def sent_again(look):
    """Return the number of segments that TCP has sent again."""
    names, values = re.findall(r"^Tcp: (.*)$", look.text, re.MULTILINE)
    return int(values.split()[names.split().index("RetransSegs")])


def pace(run, node, since, until):
    return len(run.updates(node, since, until)) / (until - since)


def test_a_partition_silences_and_the_process_lives_on(fleet):
    assert fleet.acts("cut") == [("sever", 5.2), ("mend", 8.2)]
    assert fleet.sent("cut", 5.5, 8.15) == 0 < fleet.sent("calm", 5.5, 8.15)
    assert fleet.sent("cut", 3.0, 5.1) > 0 < fleet.sent("cut", 8.5, 12.0)
    assert not fleet.updates("cut", 5.5, 8.2) and fleet.updates("cut", 8.2, 16.0)
    assert fleet.incarnations("cut") == [0] and not fleet.changes("cut", lambda look: look.part)


def test_a_flap_cuts_again_and_again(fleet):
    outages = [(5.6, 6.6), (10.6, 11.6), (15.6, 16.6)]
    planned = [
        (what, at) for cut in outages for what, at in zip(("sever", "mend"), cut, strict=False)
    ]
    assert fleet.acts("flapping") == planned
    assert {record["fault"] for record in fleet.of("flapping")} == {"flap"}
    for begin, end in outages:
        assert fleet.sent("flapping", begin + 0.3, end - 0.05) == 0
        assert not fleet.updates("flapping", begin + 0.3, end)
    # TCP waits about as long as the outage once more until it sends again
    for begin, end in ((6.6, 10.6), (11.6, 15.6), (16.6, 24.0)):
        assert fleet.updates("flapping", begin, end)
    assert fleet.incarnations("flapping") == [0]


def test_a_slower_link_slows_the_device_and_comes_back(fleet):
    assert fleet.acts("degraded") == [("reshape", 7.6), ("restore", 12.8)]
    (begun,) = fleet.said("reshape", node="degraded")
    assert begun["setting"] == {"rate": 0.05, "delay": 0.2} and begun["fault"] == "degrade"
    slow, own = fleet.link_changes("degraded", rates)
    assert slow.value == (400e3, 400e3) and slow.within(7.6)
    assert own.value == (8e6, 8e6) and own.within(12.8)
    # an exchange of 2 × 0.4 s of delay at least
    during = len(fleet.updates("degraded", 8.1, 12.8))
    assert 1 <= during <= 4.7 / 0.4 + 1
    before, after = pace(fleet, "degraded", 2.0, 7.6), pace(fleet, "degraded", 13.8, 20.0)
    assert min(before, after) > 4 * during / 4.7
    assert fleet.incarnations("degraded") == [0]


def test_a_degraded_link_stays_so_through_a_crash_and_a_partition(fleet):
    acts = [("reshape", 16.8), ("kill", 17.2), ("boot", 18.2), ("sever", 22.6), ("mend", 23.6)]
    assert fleet.acts("rated") == [*acts, ("restore", 26.8)]
    seen = fleet.link_changes("rated", rates)
    ends = [change for change in seen if change.value == (8e6, 8e6)]
    slow = [change for change in seen if change.value == (2e6, 2e6)]
    assert len(ends) == len(slow) == 1
    assert slow[0].within(16.8) and ends[0].within(26.8)


def test_a_lossy_link_loses_packets(fleet):
    assert fleet.acts("lossy") == [("reshape", 13.4), ("restore", 19.4)]
    (begun,) = fleet.said("reshape", node="lossy")
    assert begun["setting"] == {"loss": 0.3} and begun["fault"] == "degrade"
    looks = fleet.links["lossy"]
    if behind_the_box(looks[-1]):
        begin, end = (max(n for n, look in enumerate(looks) if look.at < t) for t in (13.4, 19.4))
        again = [sent_again(look) - sent_again(before) for before, look in pairwise(looks)]
        before, during = sum(again[:begin]), sum(again[begin:end])
        print("segments sent again before and during the loss", before, during)
        assert during >= 2 + 2 * before  # TCP waits ever longer until it sends again
        # Of six packets in a row 0.7 ** 6 = 12 % of runs lose none, so the first loss may be late.
        assert looks[next(n for n, more in enumerate(again) if n >= begin and more)].at < 17
        # the last lost segments are sent again once TCP's timer has run out
        after = sum(more for look, more in zip(looks, again, strict=False) if look.at > 23.5)
        assert after <= before
    else:
        lossy = [
            look.at for look in looks if re.search(r"blackhole|loss 30%|numgen random", look.text)
        ]
        assert 13.4 < lossy[0] < 14.2 and 18.8 < lossy[-1] < 19.7
    during = pace(fleet, "lossy", 14.0, 19.4)
    before, after = pace(fleet, "lossy", 4.0, 13.4), pace(fleet, "lossy", 23.5, 29.0)
    print("updates/s of a lossy link", before, during, after)
    assert during < 0.8 * before and during < 0.8 * after
    assert set(fleet.incarnations("lossy")) == {0}


def test_a_link_becomes_another_and_its_own_again(fleet):
    assert fleet.acts("preset") == [("reshape", 8.8), ("restore", 16.8)]
    (begun,) = fleet.said("reshape", node="preset")
    assert begun["setting"]["link"]["up"]["rate"] == 256e3
    other, own = (
        change
        for change in fleet.link_changes("preset", rates)
        if change.value in ((256e3, 280e3), (8e6, 8e6))
    )
    assert other.within(8.8) and own.within(16.8) and own.value == (8e6, 8e6)
    assert 0 < pace(fleet, "preset", 9.6, 16.8) < 0.7 * pace(fleet, "preset", 2.0, 8.8)


def test_flipped_bits_are_refused_and_the_device_goes_on(fleet):
    assert fleet.acts("garbled") == [("garble", 12.4), ("clear", 18.4)]
    (began,) = fleet.said("garble")
    assert began["setting"] == {"share": 0.2} and began["fault"] == "corrupt"
    refused = fleet.said("refused")
    number = sum(record.get("count", 1) for record in refused)
    assert number >= 3 and {record["node"] for record in refused} == {"garbled"}
    assert {record["reason"] for record in refused} == {MISMATCH}
    # of many refusals the last record is written at the run's end
    assert all(12.4 <= record["at"] <= 18.9 for record in refused[:-1])
    assert fleet.updates("garbled", 12.9, 18.0) and fleet.updates("garbled", 18.9, 30.0)
    assert set(fleet.incarnations("garbled")) == {0}


def test_a_device_that_lies_leads_the_others_astray(fleet):
    assert fleet.acts("liar") == [("falsify", 24.0), ("reform", 28.0)]
    (begun,) = fleet.said("falsify")
    assert begun["setting"] == {"lie": "same-value", "by": 200.0}
    honest, astray = (
        median(record["loss"] for record in fleet.updates("calm", *span))
        for span in ((18.0, 24.0), (25.0, 28.0))
    )
    assert astray > 2 * honest, (honest, astray)
    assert fleet.updates("liar", 24.5, 28.0) and set(fleet.incarnations("liar")) == {0}
