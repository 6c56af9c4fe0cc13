"""A machine of Debian 13 that runs one module of the checkout as root, and ends.

`tests/debian/setup` makes the disk of the machine once. Each boot gets the disk as it was, a second
one with this checkout, installed as a user installs it, and a third one for the results.
"""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from emulator.machine.cache import cache
from tests.netem.machine import REPOSITORY

DISK, KERNEL, INITRD = "disk", "vmlinuz", "initrd"
PATIENCE = 5400.0
"""Seconds of the host that a machine may take. QEMU translates each instruction, so the machine has
about a tenth of the host's speed."""

RESULTS = 256 << 20
"""Bytes of the disk of the results."""

COMMAND_LINE = (
    "root=/dev/vda rw console=ttyS0 quiet panic=-1 systemd.show_status=no "
    "mitigations=off audit=0"  # what mends processors costs an emulated one much
)

BOOTS = 3
"""How often a machine is booted whose kernel gives up before it starts anything. While the kernel
patches its own code, an emulated second processor may run into the half-patched instruction."""

STARTED = "the machine has started"

START = """\
#!/bin/bash
echo {started} > /dev/ttyS0
export EMULATE_CACHE=/var/cache/emulate PYTHONPATH=/emulate/site:/emulate:/opt/site HOME=/root
export TERM=dumb COLUMNS=120 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
export TF_CPP_MIN_LOG_LEVEL=2 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
mkdir -p /root/results && cd /root/results
python3 -m {script} {words}
tar -cf /dev/vdc .
sync
"""


def folder() -> Path:
    """Return the folder of the machine that `setup` made with the installed TensorFlow."""
    return cache("debian-13") / importlib.metadata.version("tensorflow-cpu")


def lacking() -> str:
    """What is missing to boot the machine, in words; empty if nothing is."""
    tools = ("qemu-system-x86_64", "mke2fs")
    missing = [tool for tool in tools if not shutil.which(tool)]
    if not (folder() / DISK).exists():
        missing.append(f"a disk in {folder()}")
    return f"needs {', '.join(missing)}: run tests/debian/setup" if missing else ""


def boot(script: str, work: Path, *words: str) -> Path:
    """Run the module `script` with `words` in a fresh machine; return the folder of the results.

    The folder has the files that the module wrote to its working folder, and the console's output
    as `console`.
    """
    made = folder()
    code, results = work / "code", work / "results"
    _lay_down(work / "checkout", script, words)
    _file_system(work / "checkout", code)
    with results.open("wb") as file:
        file.truncate(RESULTS)
    console = work / "console"
    for _ in range(BOOTS):
        _run(made, code, results, console)
        said = console.read_text(errors="replace")
        if STARTED in said or "Kernel panic" not in said:
            break
    found = work / "found"
    with tarfile.open(results) as archive:
        archive.extractall(found, filter="data")
    if not found.exists():  # QEMU was ended before the machine wrote its results
        raise RuntimeError(f"the machine left nothing; the end of its console:\n{said[-2000:]}")
    shutil.move(console, found / "console")
    return found


def _run(made: Path, code: Path, results: Path, console: Path) -> None:
    """Start QEMU with the machine of the folder `made`, and wait for its end."""
    with console.open("wb") as output:
        subprocess.run(
            [
                *(
                    "nice",
                    "-n",
                    "10",
                    "qemu-system-x86_64",
                    "-machine",
                    "q35",
                    "-accel",
                    "tcg,thread=multi",
                ),
                # a walk through five levels of pages takes longer than one through four
                *("-cpu", "max,la57=off", "-smp", "2", "-m", "5120", "-nodefaults"),
                *(
                    "-display",
                    "none",
                    "-serial",
                    "stdio",
                    "-no-reboot",
                    "-device",
                    "virtio-rng-pci",
                ),
                *("-kernel", str(made / KERNEL), "-initrd", str(made / INITRD)),
                *("-append", COMMAND_LINE),
                *_drive(made / DISK, "cache=unsafe,snapshot=on"),
                *_drive(code, "readonly=on"),
                *_drive(results, "cache=unsafe"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # QEMU writes what the machine changes to TMPDIR
            env={**os.environ, "TMPDIR": str(console.parent)},
            timeout=PATIENCE,
        )


def _drive(file: Path, options: str) -> tuple[str, str]:
    return "-drive", f"file={file},if=virtio,format=raw,{options}"


def _lay_down(root: Path, script: str, words: tuple[str, ...]) -> None:
    """Fill the folder `root` with the installed package, the tests, and the scenarios."""
    root.mkdir(parents=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wheel = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(root)]
    subprocess.run([*pip, *wheel, str(REPOSITORY)], check=True, capture_output=True)
    (built,) = root.glob("*.whl")
    with zipfile.ZipFile(built) as members:
        members.extractall(root / "site")
    built.unlink()
    for name in ("tests", "scenarios"):
        unused = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / name, root / name, ignore=unused)
    (root / "start").write_text(START.format(started=STARTED, script=script, words=" ".join(words)))
    (root / "start").chmod(0o755)


def _file_system(root: Path, image: Path) -> None:
    command = ["mke2fs", "-q", "-t", "ext4", "-d", str(root), str(image), "64M"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
