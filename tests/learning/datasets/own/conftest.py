from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test have a cache of its own."""
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path / "cache"))
