"""One thread for NumPy's linear algebra: with more, the last bits of a product are others.

A pool of threads would gain nothing either at the sizes of a mini-batch, where several gradients
are found side by side anyway.
"""

import ctypes
from functools import cache
from pathlib import Path

MAPS = Path("/proc/self/maps")

_SETTERS = (  # as NumPy's wheels, and as distributions spell it
    "scipy_openblas_set_num_threads64_",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
)


@cache
def one_thread() -> None:
    """From now on, in this process, whatever the environment said and however many cores it has.

    This knows OpenBLAS, which NumPy comes with. Another library does as it likes.
    """
    for path in _libraries():
        opened = ctypes.CDLL(path)  # it is in memory: this only finds it again
        for name in _SETTERS:
            if hasattr(opened, name):
                getattr(opened, name)(ctypes.c_int(1))


def _libraries() -> list[str]:
    try:
        lines = MAPS.read_text().splitlines()
    except OSError:
        return []
    paths = {line.partition("/")[1] + line.partition("/")[2] for line in lines}
    return sorted(path for path in paths if "openblas" in Path(path).name)
