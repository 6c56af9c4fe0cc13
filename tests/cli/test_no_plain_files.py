"""Every command that reads files, given a pipe without a writer or a device without an end in place
of a file: the command ends at once, in little memory, and without a traceback."""

from pathlib import Path

import pytest
import yaml

from emulator import read_run
from emulator.errors import EmulatorError
from tests.fakes.endless_files import MAKERS, limited
from tests.fakes.runs.handmade_run import update, written
from tests.fakes.typed_commands import SCENARIO, Emulate

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "check": ("check", "FILE.yaml"),
    "run": ("run", "FILE.yaml", "--on", "virtual"),
    "plan": ("plan", "FILE.yaml"),
    "sweep": ("sweep", "FILE.yaml", "--over", "seed=1,2"),
    "tune": ("tune", "FILE.yaml"),
    "compose": ("compose", "FILE.yaml", "out"),
    "calibrate": ("calibrate", "FILE.yaml"),
    "schedule": ("schedule", "FILE.yaml"),
    "predict": ("predict", "FILE.yaml"),
    "schedule --costs": ("schedule", "--costs", "FILE.json"),
    "predict --costs": ("predict", "--costs", "FILE.json"),
    "trace": ("trace", "FILE.csv"),
    "data of a scenario": ("data", "FILE.yaml"),
    "data of a table": ("data", "FILE.csv"),
    "data of arrays": ("data", "FILE.npz"),
    "data of a function": ("data", "./FILE.py:load"),
    "test-codec": ("test-codec", "./FILE.py:Half"),
    "model": ("model", "./FILE.py:net"),
    "profiles": ("profiles", "./FILE.yaml"),
    "link": ("link", "nobody", "--profile", "./FILE.yaml"),
    "link --up": ("link", "nobody", "--up", "{rate: 1mbit, trace: ./FILE.csv}"),
    "report --figure": ("report", "runs/a", "--figure", "./FILE.py:Figure"),
}
"""Words of commands in which FILE is the name of a file that the command reads."""

READERS: dict[str, tuple[str, ...]] = {
    "report": ("report", "runs/a"),
    "compare": ("compare", "runs/a", "runs/b"),
    "list": ("list",),
    "logs": ("logs", "runs/a"),
    "logs of a device": ("logs", "runs/a", "near-0"),
    "export csv": ("export", "runs/a", "--format", "csv", "--out", "out"),
    "export keras": ("export", "runs/a", "--format", "keras", "--out", "out"),
    "export tensorboard": ("export", "runs/a", "--format", "tensorboard", "--out", "out"),
    "resume": ("resume", "runs/a"),
    "stop": ("stop", "runs/a"),
}
"""Words of commands that read the folders of runs."""

FILES = (
    *("scenario.yaml", "run.jsonl", "summary.json", "manifest.json", "timeline.jsonl"),
    *("reports.jsonl", "model.npz", "point.json", "lock", "server/run.jsonl", "server/model.npz"),
    *("server/lives", "logs/near-0.log"),
)


@pytest.mark.mostly_slow(quick=30)
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_is_refused_in_one_line(emulate: Emulate, name: str, kind: str) -> None:
    _run_folder(Path("runs/a"))
    words = [word.replace("FILE", "strange") for word in ARGUMENTS[name]]
    for suffix in ("yaml", "json", "csv", "npz", "py"):
        MAKERS[kind](Path(f"strange.{suffix}"))
    with limited():
        said = emulate(*words)
    assert said.code in (1, 2), said
    lines = said.err.strip().splitlines()
    assert len([line for line in lines if "strange" in line or "/dev/zero" in line]) == 1, said.err
    assert "None" not in said.err


@pytest.mark.mostly_slow(quick=7)
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("name", FILES)
def test_no_file_of_a_run_is_waited_for(emulate: Emulate, name: str, kind: str) -> None:
    for run in ("a", "b"):
        _run_folder(Path("runs", run))
    file = Path("runs/a", name)
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    MAKERS[kind](file)
    for words in READERS.values():
        with limited():
            said = emulate(*words)
        assert "Traceback" not in said.err and "None" not in said.err, (words, said.err)
    with limited():
        try:
            read_run(Path("runs/a"))
        except (EmulatorError, ValueError) as error:
            assert name in str(error)


def _run_folder(folder: Path) -> None:
    written(folder, [update(1.0, "near-0")], scenario=yaml.safe_load(SCENARIO))
