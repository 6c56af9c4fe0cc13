"""Plugins of users in containers: a codec of a file, and an optimizer of an installed package."""

import os
from pathlib import Path

import pytest

from tests.containers.conftest import ROOT, TINY

pytestmark = [pytest.mark.docker, pytest.mark.beside, pytest.mark.timeout(180)]

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


def test_they_play_and_the_report_names_them(emulate, installed: None, tmp_path: Path) -> None:
    parts = "codec: ./half.py:Half, optimizer: plain"
    (tmp_path / "half.py").write_text((ROOT / "scenarios" / "own" / "half.py").read_text())
    (tmp_path / "lab.yaml").write_text(TINY.replace("algorithm: adacomp", parts))
    said = emulate("run", "lab.yaml").stdout
    assert "2.0x less than dense" in said
    run = tmp_path / "runs" / "tiny" / "latest"
    assert "half.py:Half, constant, asynchronous, plain" in (run / "report.html").read_text()
    assert (run / "plugins" / "installed" / "acme" / "__init__.py").read_text() == PACKAGE
    assert "its user is nobody" in emulate("logs", "tiny", "server").stdout
    assert "plain  Steps along the gradient. (acme 1.5)" in emulate("algorithms").stdout
    emulate("run", str(run / "scenario.yaml"), "--on", "virtual")  # with the kept sources
