"""How far a sweep is."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.cli.watching.progress import span
from emulator.cli.watching.sweep_views import LiveSweepView, PlainSweepView
from emulator.sweeps import Finished, Standing
from tests.fakes.sweeps.made_up_sweeps import Watching, made_up, rates


@pytest.mark.slow
def test_how_far_it_is(sweep_file: Path, tmp_path: Path, played: Callable[[], list[str]]) -> None:
    view = Watching()
    made_up(rates(sweep_file, 0.1, 0.2), tmp_path / "out", cores=1, view=view)
    result = [(now.finished, *now.playing) for now in view.standings]
    assert (1, ("training.learning_rate=0.2,seed=4", "20 of 40 updates")) in result
    assert {now.total for now in view.standings} == {2}
    guesses = [now.left for now in view.standings if now.left is not None]
    assert guesses and all(0 <= guess < 60 for guess in guesses)
    assert view.standings[-1] == Standing(2, 2, (), 0.0)


def test_plain_lines_for_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    clock = iter([0.0, 1.0, 31.0, 31.0, 32.0])
    with PlainSweepView(Console(), clock=lambda: next(clock)) as view:
        view.progress("6 points into runs/sweeps/pair-1")
        now = Standing(6, 1, (("devices[0].count=2,seed=1", "20 of 40 updates"),), 100.0)
        for _ in range(3):
            view.standing(now)
        row = {"final_accuracy": 0.5, "updates": 40, "outcome": "failed", "stop": "diverged"}
        view.finished(Finished("devices[0].count=2,seed=1", Path(), row), now)
    assert capsys.readouterr().out.splitlines() == [
        "6 points into runs/sweeps/pair-1 ...",
        "1 of 6 points finished, about 2 min left; devices[0].count=2,seed=1: 20 of 40 updates",
        "1/6  devices[0].count=2,seed=1: 50.00% after 40 updates, failed (diverged)",
    ]


def test_the_panel_shows_labels_as_they_are_written() -> None:
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=True, color_system=None)
    with LiveSweepView(console) as view:
        view.progress("2 points into [lab]/sweeps")
        view._live.refresh()
        view.standing(Standing(2, 0, (("devices[0].failures=[flaky-home]", "no update yet"),)))
    assert "2 points into [lab]/sweeps ..." in out.getvalue()
    assert "devices[0].failures=[flaky-home]" in out.getvalue()


@pytest.mark.parametrize(
    "seconds, text", [(0.4, "0 s"), (99, "99 s"), (150, "2 min"), (12_060, "3 h 21 min")]
)
def test_spans(seconds: float, text: str) -> None:
    assert span(seconds) == text
