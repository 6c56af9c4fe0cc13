"""Virtual time without Docker, without root and without a network."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.errors import DataError
from emulator.learning import datasets
from emulator.machine.cache import cache

NOBODY = "65534"
SCENARIO = """
# Does it play where nothing else would?
name: anywhere
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
evaluate: {every: 100}
stop: {updates: 300}
devices:
  - {name: home, count: 4, profile: raspberry-pi-4, link: dsl}
faults:
  - {kind: crash, nodes: [home-1], at: 2s, lasts: 1s}
  - {kind: partition, nodes: [home-2], at: 3s, lasts: 1s}
"""
# A namespace of its own hides the engine's socket, and has no network but itself. What is left
# of root's powers is to read files: this very Python may lie in root's home.
ALONE = """
set -e
ip link set lo up
mount -t tmpfs none /run
exec setpriv --reuid {nobody} --regid {nobody} --clear-groups --no-new-privs \
  --inh-caps -all,+dac_read_search --ambient-caps +dac_read_search \
  -- "$@"
"""

pytestmark = [
    pytest.mark.netns,
    pytest.mark.tensorflow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give it up"),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder of the user `nobody`, with the digits and nothing else of ours."""
    try:
        datasets.load("digits")
    except DataError as error:
        pytest.skip(f"needs the digits: {error}")
    shutil.copytree(cache("data", "digits"), tmp_path / "cache" / "data" / "digits")
    (tmp_path / "anywhere.yaml").write_text(SCENARIO)
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, int(NOBODY), int(NOBODY))
    for parent in tmp_path.parents:
        if parent.stat().st_uid == 0 and str(parent).startswith("/tmp/pytest"):
            parent.chmod(0o711)
    return tmp_path


def emulate(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line as the user `nobody`, without a network."""
    script = ALONE.format(nobody=NOBODY)
    alone = ["unshare", "--mount", "--net", "sh", "-c", script, "sh"]
    return subprocess.run(
        [*alone, f"{Path(sys.executable).parent}/emulate", *words, "--runs", f"{home}/runs"],
        capture_output=True,
        text=True,
        cwd=home,
        env={"HOME": str(home), "PATH": os.environ["PATH"], "EMULATE_CACHE": f"{home}/cache"},
        timeout=120,
    )


def test_one_command_plays_it(home: Path) -> None:
    done = emulate(home, "run", f"{home}/anywhere.yaml", "--on", "virtual", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["outcome"], summary["updates"]) == ("success", 300)
    assert summary["final_accuracy"] > 0.5
    assert summary["faults_realised"] == 2
    folder = Path(summary["run"])
    assert folder.stat().st_uid == int(NOBODY)
    assert (folder / "report.html").is_file()


def test_there_is_really_no_engine(home: Path) -> None:
    """The same place is asked for containers, and has none to give."""
    done = emulate(home, "run", f"{home}/anywhere.yaml")
    assert done.returncode == 1
    assert "Docker" in done.stderr
    assert not (home / "runs").exists()
