"""Errors of wrong faults and failure profiles: the place, the value that was found, the remedy."""

import pytest

from tests.fakes.small_scenario import mistakes


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            "{kind: crash, nodes: [on], at: 1s}",
            "faults[0].nodes[0]: 'on' is no device (did you mean 'one",
        ),
        (
            "{kind: crash, nodes: [server], at: 1s}",
            "'server' is no device: faults strike devices only: `server-crash` strikes the server",
        ),
        (
            "{kind: crash, nodes: [all], at: 1s}",
            "faults[0].nodes[0]: 'all' is no device: write nodes: all for all devices",
        ),
        (
            "{kind: straggler, nodes: [one], at: 1s}",
            "faults[0].delay: is missing: time that the device waits before each gradient, a law, "
            "for example `{exponential: 500ms}`",
        ),
        (
            "{kind: crash, nodes: [one], every: {exponential: 9s, uniform: [1s, 2s]}}",
            "'exponential and uniform' (did you mean 'exponential'?) is not fixed or ",
        ),
        (
            "{kind: crash, nodes: [one], every: {}}",
            "faults[0].every: '' is not fixed or exponential or ",
        ),
        ("{kind: crash, nodes: [], at: 1s}", "faults[0].nodes: is empty: name the devices"),
        ("{kind: crash, nodes: one, at: 1s}", "faults[0].nodes: 'one' is not a list"),
        (
            "{kind: flap, nodes: [one], per_iteration: 1%, outage: 1s, uptime: 1s}",
            "faults[0].per_iteration: draws one strike, and the kind comes and goes",
        ),
        (
            "{kind: crahs, nodes: [one], at: 1s}",
            "'crahs' (did you mean 'crash'?) is not availability or ",
        ),
        (
            "{kind: crash, nodes: [one]}",
            "faults[0]: say when: `at`, `every` or `per_iteration` (none found)",
        ),
        ("{kind: crash, nodes: [one], at: 60}", "faults[0].at: 60 has no unit"),
        ("{kind: crash, nodes: [one], at: 1s, lats: 1s}", "no such key (did you mean 'lasts'?)"),
        (
            "{kind: crash, nodes: [one], at: 1s, every: 1s}",
            "faults[0].every: say when: `at`, `every` or `per_iteration` (at and every found)",
        ),
        ("{kind: crash, at: 1s}", "faults[0].nodes: is missing: name devices or groups, write all"),
        ("{kind: crash, nodes: one, at: 1s}", "'one' is not a list: write [one], or all for all"),
        (
            "{kind: crash, nodes: all, at: 1s, between: [1s, 2s]}",
            "faults[0].between: is the window of `every`: give `every`, or leave it out",
        ),
        (
            "{kind: crash, nodes: all, every: 1h, between: [2s, 1s]}",
            "faults[0].between: the window from 2s to 1s is empty: write the earlier time first",
        ),
        (
            "{kind: crash, nodes: all, every: 1h, between: [2s]}",
            "faults[0].between: a list of 1 is not a list of two times: write its begin and its "
            "end, for example [1min, 3min] or [1min, end]",
        ),
        (
            "{kind: crash, nodes: all, every: 1h, between: '3min'}",
            "faults[0].between: '3min' is not a list of two times: write [3min, end] for the time "
            "from then on, or [0s, 3min] for until then",
        ),
        ("{kind: crash, nodes: all, every: 1h, between: [1s, nd]}", "between[1]: 'nd' is not a"),
        ("{kind: crash, nodes: all, at: 1s, keeps: all}", "faults[0].keeps: 'all' is not state"),
        ("{kind: crash, count: 0, at: 1s}", "faults[0].count: 0 is not at least 1"),
        ("{kind: crash, count: 4, at: 1s}", "faults[0].count: 4 devices of 3: write 3 or less"),
        (
            "{kind: crash, nodes: [pair], count: 3, at: 1s}",
            "faults[0].count: 3 devices of 2: write 2 or less",
        ),
        ("{kind: crash, share: 0%, at: 1s}", "faults[0].share: 0% strikes no device"),
        ("{kind: crash, share: 120%, at: 1s}", "faults[0].share: '120%' is more than 100%"),
        ("{kind: crash, count: 1, share: 9%, at: 1s}", "share: stands beside `count`: give one"),
        (
            "{kind: crash, nodes: all, per_iteration: 1%, together: true}",
            "faults[0].together: `per_iteration` is drawn by each device alone",
        ),
        (
            "{kind: crash, nodes: all, at: 1s, spread: 1s}",
            "faults[0].spread: delays the devices of a common fault: add `together: true`",
        ),
        ("{kind: crash, nodes: all, at: 1s, together: 1}", "together: 1 is not true or false"),
        ("{nodes: [one], at: 1s}", "faults[0]: a mapping without a `kind`"),
        ("crash", "faults[0]: 'crash' is not a mapping with a `kind`"),
    ],
)
def test_a_fault_that_cannot_be_aimed_is_refused(fault: str, message: str) -> None:
    result = mistakes(("stop:", f"faults: [{fault}]\nstop:"))
    assert len(result) == 1
    assert message in result[0]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("{kind: crash, every: {poison: 1s}}", "every: 'poison' is not fixed or exponential or"),
        ("{kind: crash, every: 5}", "faults[0].every: 5 has no unit"),
        ("{kind: crash, every: {uniform: [2s, 1s]}}", "uniform runs from 2s to 1s"),
        ("{kind: crash, every: {uniform: [2s]}}", "every.uniform"),
        (
            "{kind: crash, every: {lognormal: [2s, 1000]}}",
            "the sigma of lognormal is 1000: it is 10 at most",
        ),
        (
            "{kind: crash, every: {weibull: [2s, 0.001]}}",
            "the shape of weibull is 0.001: it is 0.01 at least",
        ),
        ("{kind: crash, every: {lognormal: [2s, 1s]}}", "lognormal[1]: '1s' is not a number"),
        ("{kind: crash}", "say when: `at`, `every` or `per_iteration` (none found)"),
        ("{kind: crash, every: 1s, per_iteration: 1%}", "(every and per_iteration found)"),
        ("{kind: crash, every: 1s, count: 2}", "faults[0].count: 2 devices of 1: write 1 or less"),
        ("{kind: crash, every: 1s, nodes: [one]}", "faults[0].nodes: no such key"),
    ],
)
def test_a_failure_profile_that_cannot_be_drawn_is_refused(fault: str, message: str) -> None:
    failures = f"failures: [{{name: mine, faults: [{fault}]}}]"
    result = mistakes(("count: 2", failures))
    assert len(result) == 1
    assert result[0].startswith("scenario:9: devices[1].failures[0].faults[0]")
    assert message in result[0]
