"""Finds the analysis: the folder `analysis/` of a checkout, or `emulator.analysis` of a wheel.

The analysis knows nothing of the emulator, so it has a folder of its own. In site-packages the
name `analysis` belongs to everybody, so a wheel carries that folder within `emulator`.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any


def analysis(module: str = "") -> Any:
    """Import the analysis package, or its `module` such as `report`, and return the module."""
    name = "emulator.analysis" if find_spec("emulator.analysis") else "analysis"
    return import_module(f"{name}.{module}" if module else name)
