"""Plugin classes from files: plain data carries them, as it carries the package's plugins."""

from pathlib import Path

import pytest

from emulator import codecs
from emulator.errors import PythonFileError
from emulator.plugins import plain

CODE = """
from dataclasses import dataclass
from emulator.units import Fraction
@dataclass(frozen=True)
class Mine:
    keep: Fraction
    step: int = 2
class Loose: pass
"""


def test_plain_data_makes_an_equal_plugin(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(CODE)
    description = {"kind": f"{tmp_path}/own.py:Mine", "keep": 0.5, "step": 3}
    made = codecs.make(description)
    assert plain(made) == description
    assert codecs.make(plain(made)) == made
    assert type(made).__name__ == "Mine"


def test_a_class_that_is_no_frozen_dataclass_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(CODE)
    with pytest.raises(PythonFileError, match=r"own\.py: 'Loose' is no plugin: write @dataclass"):
        codecs.make({"kind": f"{tmp_path}/own.py:Loose"})
