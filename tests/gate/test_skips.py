"""The gate fails at a skip that nothing allows, in one process and in several."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.gate.skips import ALLOWED
from tests.layers import ROOT

CONFTEST = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.gate.skips import pytest_addoption, pytest_configure
"""
ALLOWED_ONE = f"""
import pytest

def test_passes(): pass

@pytest.mark.skipif(True, reason={next(iter(ALLOWED)) + ", and more"!r})
def test_is_skipped(): pass

@pytest.mark.xfail
def test_is_expected_to_fail(): assert False
"""
IN_A_TEST = """
import pytest

def test_passes(): pass

def test_is_skipped(): pytest.skip("no engine with the node image")
"""
OF_A_MODULE = """
import pytest

pytest.importorskip("a_package_that_nobody_has", reason="it is not installed")
"""


def session(place: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    (place / "conftest.py").write_text(CONFTEST)
    (place / "test_ok.py").write_text("def test_passes(): pass\n")
    (place / "test_some.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "."]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("target", ["test", "test-all"])
def test_each_lane_of_the_gate_is_strict(target: str) -> None:
    command = ["make", "--dry-run", target]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    lanes = [line for line in done.stdout.splitlines() if "bin/pytest" in line]
    assert lanes
    assert [line for line in lanes if "--strict-skips" not in line] == []


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "in workers"])
def test_a_skip_that_nothing_allows_fails_the_session(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    strict = ("--strict-skips", *workers)
    assert session(tmp_path, ALLOWED_ONE, *strict).returncode == 0
    for text, said in (
        (IN_A_TEST, "no engine with the node image"),
        (OF_A_MODULE, "not installed"),
    ):
        assert session(tmp_path, text, *workers).returncode == 0
        done = session(tmp_path, text, *strict)
        assert done.returncode == 1, done.stdout
        assert "test_some.py" in done.stdout and said in done.stdout.splitlines()[-2], done.stdout
