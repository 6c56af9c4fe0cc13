"""Two runs as others left them: one with AdaComp, one without."""

import shutil
from pathlib import Path

import pytest

from tests.fakes.synthetic_run import Synthetic


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, the second unlike the first."""
    runs = tmp_path_factory.mktemp("synthetic") / "runs"
    for number, algorithm in enumerate(("adacomp", "asgd"), 1):
        folder = runs / "synthetic" / f"2025010{number}T120000Z-abc12{number}"
        Synthetic(devices=2, updates=400, algorithm=algorithm, faults=[]).write(folder)
        (folder / "devices").mkdir()
        (folder / "devices" / "fiber-0.log").write_text("hello\nworld\n")
    (runs / "synthetic" / "latest").symlink_to("20250102T120000Z-abc122")
    return runs


@pytest.fixture
def runs(synthetic: Path, tmp_path: Path) -> Path:
    """A copy of them, at the usual place."""
    return Path(shutil.copytree(synthetic, tmp_path / "runs", symlinks=True))
