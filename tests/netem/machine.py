"""A virtual machine that lives for one script: another kernel, this host's Python and tools."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

from emulator.machine.cache import cache

REPOSITORY = Path(__file__).parents[2]
MODULES = (
    *("veth", "ifb", "sch_netem", "sch_tbf", "sch_htb", "sch_ingress"),
    *("cls_u32", "act_mirred", "nf_tables", "nft_numgen", "nft_fwd_netdev", "tun"),
)
OURS = (
    *("emulator/__init__.py", "emulator/chance.py", "emulator/errors.py", "emulator/units.py"),
    *("emulator/machine/__init__.py", "emulator/machine/kernel.py"),
)
UNUSED = ("test", "site-packages", "dist-packages", "ensurepip", "idlelib", "lib2to3", "config-*")

INIT = """\
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
while read module; do /bin/busybox insmod "$module"; done < /modules
export PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH=/ PYTHONDONTWRITEBYTECODE=1
{python} -m {script}
/bin/busybox poweroff -f
"""


def kernel() -> Path:
    return cache("netem") / "kernel"


PATIENCE = 1200.0
"""Seconds of the host that a machine may take: its own clock counts instructions, and an idle host
takes two to four minutes for a script."""


def lacking() -> str:
    """What is missing to boot the machine, in words; empty if nothing is."""
    tools = ("qemu-system-x86_64", "busybox", "cpio", "tc", "ip", "nft")
    missing = [tool for tool in tools if not shutil.which(tool)]
    if not (kernel() / "vmlinuz").exists():
        missing.append(f"a kernel in {kernel()}")
    return f"needs {', '.join(missing)}: run tests/netem/setup" if missing else ""


def boot(script: str, work: Path) -> str:
    """Run the module `script` as root of a fresh machine; all that its console said."""
    image = _pack(script, work)
    words = [
        *("qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=single", "-cpu", "max"),
        # time passes as instructions do, and not while all sleep: a busy host changes nothing
        *("-icount", "shift=1,sleep=off", "-rtc", "clock=vm"),
        *("-m", "768", "-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot"),
        *("-kernel", str(kernel() / "vmlinuz"), "-initrd", str(image)),
        # without IPv6 addresses, the kernel sends no packets of its own, which would take places
        *("-append", "console=ttyS0 quiet panic=-1 ipv6.disable_ipv6=1"),
    ]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE
    )
    return done.stdout + done.stderr


def _pack(script: str, work: Path) -> Path:
    """An initramfs: this Python, our code, iproute2 and nft, and the modules in loading order."""
    root = work / "root"
    for folder in ("proc", "sys", "dev", "tmp", "run", "var", "etc"):
        (root / folder).mkdir(parents=True)
    (root / "var/run").symlink_to("/run")  # where ip keeps its namespaces
    python = Path(sys.executable).resolve()
    _put(root, _tools(python))
    _put_library(root)
    _put_code(root)
    _put_modules(root)
    (root / "init").write_text(INIT.format(python=python, script=script))
    (root / "init").chmod(0o755)
    return _archive(root, work / "initramfs")


def _tools(python: Path) -> Iterator[Path]:
    yield python
    for name in ("tc", "ip", "nft"):
        yield Path(shutil.which(name) or name)
    yield from Path("/usr/lib").glob("**/tc/*.dist")


def _put(root: Path, files: Iterable[Path]) -> None:
    """Copy programs to the same paths as on this host, with the libraries they load."""
    for file in files:
        for path in (file, *_libraries(file)):
            target = root / path.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)


def _libraries(file: Path) -> list[Path]:
    listed = subprocess.run(["ldd", file], capture_output=True, text=True).stdout
    return [Path(name) for name in re.findall(r"(/\S+) \(0x", listed)]


def _put_library(root: Path) -> None:
    library = Path(sysconfig.get_path("stdlib"))
    ignore = shutil.ignore_patterns(*UNUSED)
    shutil.copytree(library, root / library.relative_to("/"), ignore=ignore)
    for extension in (
        *("_socket", "select", "_struct", "_json", "math", "_posixsubprocess"),
        *("_random", "_sha512", "_bisect", "_heapq", "_statistics", "_decimal", "_contextvars"),
        *("array", "fcntl", "_hashlib", "_blake2", "_datetime", "_opcode", "_pickle", "resource"),
    ):
        _put(root, library.glob(f"lib-dynload/{extension}.*.so"))


def _put_code(root: Path) -> None:
    for name in (*OURS, "tests/__init__.py"):
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, target)
    for name in ("emulator/shaping", "emulator/world", "tests/netem"):
        shutil.copytree(REPOSITORY / name, root / name)
    (root / "bin").mkdir(exist_ok=True)
    shutil.copy2(shutil.which("busybox") or "busybox", root / "bin/busybox")


def _put_modules(root: Path) -> None:
    files = {path.stem.replace("-", "_"): path for path in (kernel() / "modules").rglob("*.ko")}
    order: list[str] = []

    def need(name: str) -> None:
        name = name.replace("-", "_")
        if name not in files or name in order:
            return  # built in, or seen to
        result = re.search(rb"\0depends=([^\0]*)\0", files[name].read_bytes())
        for other in result[1].decode().split(",") if result else []:
            need(other)
        order.append(name)
        shutil.copy2(files[name], root)

    for module in MODULES:
        need(module)
    (root / "modules").write_text("".join(f"/{files[name].name}\n" for name in order))


def _archive(root: Path, image: Path) -> Path:
    names = [".", *(os.path.relpath(path, root) for path in sorted(root.rglob("*")))]
    with image.open("wb") as out:
        subprocess.run(
            ["cpio", "--create", "--format=newc", "--quiet"],
            cwd=root,
            input="\n".join(names).encode(),
            stdout=out,
            check=True,
        )
    return image
