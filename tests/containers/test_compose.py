"""docker-compose.yml, played by Compose from the folder that `emulate compose` lays down."""

import shutil
import subprocess

import pytest

from emulator.runtimes.docker.images import node_image
from tests.layers import ROOT

pytestmark = [pytest.mark.docker, pytest.mark.timeout(240)]
FILE = "docker-compose.yml"


@pytest.fixture
def compose(client, tmp_path):
    """Compose in an empty folder with docker-compose.yml, whose containers have this very code."""
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True)
    command = ["docker-compose"] if plugin.returncode else ["docker", "compose"]
    if shutil.which(command[0]) is None:
        pytest.skip("Compose is missing: as root, apt-get install docker-compose")
    text, image = (ROOT / FILE).read_text(), node_image.require(client).id
    assert text.count("image: emulate/node\n") == 1
    (tmp_path / FILE).write_text(text.replace("image: emulate/node\n", f"image: {image}\n"))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        own = [*command, "--project-name", f"promised-{tmp_path.name.lower()}", *words]
        pipes = {"capture_output": True, "text": True, "timeout": 90}
        return subprocess.run(own, cwd=tmp_path, **pipes)

    yield run
    down = run("down", "--timeout", "0")
    assert down.returncode == 0, down.stderr


def test_compose_plays_the_smallest_scenario(compose, emulate, tmp_path):
    text = (ROOT / "scenarios" / "smallest.yaml").read_text()
    (tmp_path / "smallest.yaml").write_text(text.replace("updates: 600", "updates: 60"))
    laid = ("compose", "smallest.yaml", "build/compose")
    said = emulate(*laid).stdout
    assert "compose: build/compose holds the files that docker-compose.yml mounts" in said
    played = compose("up", "--no-color")
    assert played.returncode == 0, played.stdout + played.stderr
    for node in ("server", "evaluator", "device-0", "device-1"):
        assert sum(
            f"{node}" in line and "exited with code 0" in line
            for line in played.stdout.splitlines()
        )
    log = emulate("logs", "build/compose").stdout
    assert "stop: updates" in log and " accuracy" in log
    assert (tmp_path / "build/compose/server/model.npz").is_file()
    # once more in the same folder: nothing of the run before is left
    emulate(*laid)
    assert not list((tmp_path / "build/compose/server").iterdir())
