"""The arithmetic of the comparison of one engine with three; the plays are the command's."""

import pytest

from tests.benchmarks.hosts.one_or_three import HEAD, ONE, THREE, Play, verdicts


def summary(updates: int = 100, **changed: object) -> dict[str, object]:
    facts: dict[str, object] = {
        "outcome": "success",
        "detail": "",
        "updates": updates,
        "duration_s": 10.0,
        "final_accuracy": 0.97,
        "push_bytes": {"total": 40_000},
        "pull_bytes": 60_000,
        "fidelity": {"kept_up": True},
    }
    return facts | changed


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({}, []),
        ({"final_accuracy": 0.9601, "pull_bytes": 61_900, "duration_s": 11.0}, []),
        ({"final_accuracy": 0.9599}, ["accuracy"]),
        ({"pull_bytes": 62_100}, ["bytes/update"]),
        ({"pull_bytes": 57_900}, ["bytes/update"]),
        ({"duration_s": 11.2}, ["updates/s"]),
    ],
)
def test_each_bound_is_judged_by_the_medians(changed: dict[str, object], missed: list[str]) -> None:
    plays = [Play.of(ONE, 0.04, summary()), Play.of(THREE, 0.08, summary(**changed))]
    # a play that is far off changes no median of three
    plays += [Play.of(ONE, 0.04, summary()), Play.of(THREE, 0.08, summary(**changed))]
    plays.append(Play.of(THREE, 0.08, summary(final_accuracy=0.5, duration_s=50.0)))
    found = [*verdicts(plays)]
    assert [line.split()[0] for line, kept in found if not kept] == missed
    assert found[-1][0] == "the host itself x 0.500 as fast before the plays on three"
    assert len(plays[0].line()) == len(HEAD)


def test_a_play_that_failed_is_no_figure() -> None:
    with pytest.raises(SystemExit, match="three: the run has failed: no disk"):
        Play.of(THREE, 0.04, summary(outcome="failed", detail="no disk"))
