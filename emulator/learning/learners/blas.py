"""A single thread for NumPy's linear algebra, as more threads change the last bits of products.

More threads would gain little at the size of a mini-batch, where gradients of several devices are
computed side by side anyway.
"""

import ctypes
from functools import cache
from pathlib import Path

MAPS = Path("/proc/self/maps")

_SETTERS = (  # spellings of NumPy's wheels, then of distributions
    "scipy_openblas_set_num_threads64_",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
)


@cache
def one_thread() -> None:
    """Limit OpenBLAS to one thread in this process, whatever the environment and the cores.

    Another BLAS library is not affected; NumPy's wheels contain OpenBLAS.
    """
    for path in _libraries():
        opened = ctypes.CDLL(path)  # already loaded: this returns the same library
        for name in _SETTERS:
            if hasattr(opened, name):
                getattr(opened, name)(ctypes.c_int(1))


def _libraries() -> list[str]:
    """Return the paths of the OpenBLAS libraries that this process has loaded."""
    try:
        lines = MAPS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    paths = {line.partition("/")[1] + line.partition("/")[2] for line in lines}
    return sorted(path for path in paths if "openblas" in Path(path).name)
