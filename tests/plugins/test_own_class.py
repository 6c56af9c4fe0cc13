"""Plugin classes of users: plain data carries them, as it carries the package's plugins."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from emulator import modulation
from emulator.errors import PythonFileError
from emulator.plugins import family, plain

CODE = """
from dataclasses import dataclass
from emulator.units import Fraction
@dataclass(frozen=True)
class Mine:
    keep: Fraction
    step: int = 2
    def start(self, layout, version=0): ...
    def memory(self, layout, workers): return 0
class Loose: pass
@dataclass(frozen=True)
class Half:
    def start(self, layout, version=0): ...
def function(): ...
"""


def test_plain_data_makes_an_equal_plugin(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(CODE)
    description = {"kind": f"{tmp_path}/own.py:Mine", "keep": 0.5, "step": 3}
    made = modulation.make(description)
    assert plain(made) == description
    assert modulation.make(plain(made)) == made
    assert made.kind == "own.py:Mine"  # the same wherever the file lies


@pytest.mark.parametrize(
    "name, says",
    [
        ("Loose", r"own\.py:10: 'Loose' is no modulation: write @dataclass\(frozen=True\)"),
        ("Half", r"own\.py:12: 'Half' is no modulation: it lacks memory$"),
        ("function", r"own\.py:14: 'function' is no class: a modulation is a class with"),
    ],
)
def test_another_object_is_refused_with_its_line(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "own.py").write_text(CODE)
    with pytest.raises(PythonFileError, match=says):
        modulation.make({"kind": f"{tmp_path}/own.py:{name}"})


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package `acme`, which offers the modulations `mine`, `gone` and `loose`."""
    folder = tmp_path / "acme"
    folder.mkdir()
    (folder / "__init__.py").write_text(CODE)
    (folder / "broken.py").write_text("\nimport not_here\n")
    points = {"mine": "acme:Mine", "gone": "acme.broken:Mine", "loose": "acme:Loose"}
    group = modulation.FAMILY.group
    found = {name: EntryPoint(name, value, group) for name, value in points.items()}
    monkeypatch.setattr(family, "_entry_points", lambda asked: found if asked == group else {})
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_an_installed_package_offers_plugins_by_name(package: Path) -> None:
    made = modulation.make({"kind": "mine", "keep": 0.25})
    assert plain(made) == {"kind": "mine", "keep": 0.25, "step": 2}
    with pytest.raises(PythonFileError) as caught:
        modulation.make({"kind": "gone"})
    assert str(caught.value) == (
        f"{package}/broken.py:2: the entry point gone = acme.broken:Mine of emulate.modulation "
        "raises ModuleNotFoundError: No module named 'not_here'"
    )
    with pytest.raises(PythonFileError, match=r"^the entry point loose = acme:Loose of .* write"):
        modulation.make({"kind": "loose"})
    with pytest.raises(ValueError, match="kind 'lost' is not constant or"):
        modulation.make({"kind": "lost"})
