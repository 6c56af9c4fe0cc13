"""`emulate tune`: typed commands and printed answers."""

from pathlib import Path

import pytest

from emulator.cli.play import tune as command
from emulator.sweeps.tuning.comparison import BASELINES
from tests.fakes.typed_commands import Emulate, scenario


def test_the_command_names_every_baseline() -> None:
    assert tuple(BASELINES) == command._BASELINES


def test_help_teaches_the_algorithm(emulate: Emulate) -> None:
    said = emulate("tune", "--help")
    for word in ("Algorithm 1", "--budget", "--baseline", "tuned.yaml", "finished trials"):
        assert word.lower() in said.out.lower()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--probe", "5"), "or write updates, as 3000updates"),
        (("--budget", "0s"), "a length is above zero"),
        (("--rates", "0.1,x"), "write numbers, as 0.1,0.01"),
        (("--rates", "0"), "a learning rate is above zero"),
        (("--baseline", "best"), "'best' is not one of"),
        ((), "one group of all 4 devices needs an example for each: write 4 or more"),
        (("--set", "training.batch_size=8", "--baseline", "exhaustive"), "stop.accuracy: is"),
        (("--set", "virtual.learner=none"), "nothing is learnt"),
    ],
)
def test_mistakes(emulate: Emulate, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    file = scenario(tmp_path, ("algorithm: adacomp", "algorithm: adacomp, batch_size: 3"))
    said = emulate("tune", file, *words)
    assert said.code == 2
    assert message in " ".join(said.err.split())
    assert not (tmp_path / "runs").exists()
