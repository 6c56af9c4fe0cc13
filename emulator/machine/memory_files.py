"""File systems that keep their files in memory."""

import os
from pathlib import Path
from shutil import disk_usage

MOUNTS = Path("/proc/self/mountinfo")


def room_in_memory(path: Path, mounts: Path = MOUNTS) -> int:
    """Return the free bytes of the tmpfs that holds `path`; 0 if another file system does.

    Pages of a tmpfs count towards the memory limit of the container that writes them, and are not
    given back. `mounts` is a file in the format of proc(5), `/proc/[pid]/mountinfo`; without the
    file, as on other systems than Linux, no file system is known to be in memory.
    """
    device = os.stat(path).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        lines = mounts.read_text(errors="replace", encoding="utf-8").splitlines()
    except OSError:
        return 0
    # "36 35 0:44 / /runs rw,noatime shared:1 - tmpfs none rw": the type follows the lone dash
    fields = [line.partition(" - ") for line in lines]
    types = {kind.split()[0] for about, _, kind in fields if kind and number in about.split()[2:3]}
    return disk_usage(path).free if "tmpfs" in types else 0
