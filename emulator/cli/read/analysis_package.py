"""Finds the analysis: `emulator.analysis` of a wheel, or the folder `analysis/` of a checkout.

The analysis knows nothing of the emulator, so it has a folder of its own. In site-packages the
name `analysis` belongs to everybody, so a wheel carries that folder within `emulator`.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

_OWN_NAME = "emulator.analysis"
_IN_WHEEL = Path(__file__).parents[2] / "analysis"
_CHECKOUT = Path(__file__).parents[3] / "analysis" / "__init__.py"


def analysis(module: str = "") -> Any:
    """Import and return the analysis package, or the package's `module` such as `report`."""
    if _IN_WHEEL.is_dir() or getattr(sys.modules.get(_OWN_NAME), "__name__", "") == _OWN_NAME:
        name = _OWN_NAME
    elif is_checkouts("analysis"):
        name = "analysis"
    else:  # this name is another package's here
        name = _load_as(_OWN_NAME)
    return import_module(f"{name}.{module}" if module else name)


def is_checkouts(name: str) -> bool:
    """Return whether an import of `name` brings the checkout's package, and no other one."""
    try:
        spec = find_spec(name)
    except ValueError:  # a module in `sys.modules` without a spec
        return False
    origin = spec.origin if spec else None
    return origin is not None and Path(origin).resolve() == _CHECKOUT.resolve()


def own_spec() -> ModuleSpec | None:
    """Return how the checkout's package is imported as `emulator.analysis`."""
    return spec_from_file_location(_OWN_NAME, _CHECKOUT)


def _load_as(name: str) -> str:
    """Load the checkout's package as the module `name`, and return `name`.

    Works because the package imports its own modules by relative names only.
    """
    spec = own_spec()
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"{_CHECKOUT} is no package", name=name)
    package = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(package)
    except BaseException:
        del sys.modules[name]
        raise
    return name
