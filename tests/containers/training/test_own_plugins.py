"""People's own work in containers: a model, data, a codec and a figure of files, and an optimizer
of an installed package."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.containers.conftest import TINY
from tests.containers.training.device_memory import MemoryWatch
from tests.layers import ROOT

pytestmark = [
    pytest.mark.docker,
    pytest.mark.tensorflow,
    pytest.mark.timeout(240),
]

PACKAGE = '''
import os
from dataclasses import dataclass
from emulator.optimizers import SGD

@dataclass(frozen=True)
class Plain(SGD):
    """Steps along the gradient."""

    def start(self, size, rate):
        if __file__.startswith("/plugins/installed/acme"):  # in the server's container
            assert os.getuid() != 0
            assert not os.access(__file__, os.W_OK)
            print("the plugin is read-only, and its user is nobody", flush=True)
        return super().start(size, rate)
'''


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package `acme`, as pip installs it, which offers the optimizer `plain`."""
    about = tmp_path / "site" / "acme-1.5.dist-info"
    about.mkdir(parents=True)
    (tmp_path / "site" / "acme").mkdir()
    (tmp_path / "site" / "acme" / "__init__.py").write_text(PACKAGE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.5\n")
    (about / "entry_points.txt").write_text("[emulate.optimizers]\nplain = acme:Plain\n")
    known = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'site'}{os.pathsep}{known}")


def test_they_play_and_the_report_names_them(
    client, emulate, installed: None, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "scenarios" / "own", tmp_path, dirs_exist_ok=True)
    parts = "codec: ./half.py:Half, optimizer: plain, batch_size: 32"
    text = TINY.replace("algorithm: adacomp", parts).replace("model: digits-mlp", "model: «model»")
    text = text.replace("dataset: digits", "dataset: ./made_up.py:images")
    figures = "report: {figures: [./figures.py:LossByDevice]}\n"
    (tmp_path / "lab.yaml").write_text(text.replace("«model»", "./models.py:cnn") + figures)
    asked = ("model", "./models.py:cnn", "--batch-size", "32", "--json")
    memory = json.loads(emulate(*asked).stdout)["memory"]
    with MemoryWatch(client, tmp_path / "runs" / "tiny", ["left", "right"]) as watch:
        said = emulate("run", "lab.yaml").stdout
    assert "2.0x less than dense" in said
    said_to_need = memory["fixed"] + 32 * memory["example"] + memory["codec"]
    assert watch.sums.keys() == {"left", "right"}
    left, right = watch.sums.values()
    assert (left + right) / 2 == pytest.approx(said_to_need, rel=0.1)
    for found in (left, right):  # TensorFlow's allocator took 6 MB more in a third of the workers
        assert found == pytest.approx(said_to_need, rel=0.15)
    run = tmp_path / "runs" / "tiny" / "latest"
    report = (run / "report.html").read_text()
    assert "half.py:Half, constant, asynchronous, plain" in report
    assert "<b>Loss by device.</b>" in report
    assert (run / "plugins" / "installed" / "acme" / "__init__.py").read_text() == PACKAGE
    assert "its user is nobody" in emulate("logs", "tiny", "server").stdout
    assert "plain  Steps along the gradient. (acme 1.5)" in emulate("algorithms").stdout
    emulate("run", str(run / "scenario.yaml"), "--on", "virtual")  # with the kept sources
