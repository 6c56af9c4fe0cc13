"""Installs this tree in a fresh environment, with the lowest direct versions, and uses it.

    python -m tests.installing.fresh_install [--python PATH] [--resolution lowest-direct]
        [--folder FOLDER]

Takes about two minutes and two gigabytes in build/lowest, and wants PyPI. The installer uv resolves
the lowest versions that pyproject.toml allows; pip cannot. `--resolution highest` takes the newest
versions, and `--python` another Python, for example that of 3.13.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.layers import ROOT

USES = (
    "--version",
    "check smallest.yaml",
    "run smallest.yaml --on virtual --set stop.updates=20 --set evaluate.every=10",
    "export smallest --format csv",
    "export smallest --format parquet",
    "report smallest",
    "schema",
    "profiles",
    "doctor --help",
)
"""Commands of `emulate`, typed one after another in a folder that holds `smallest.yaml`."""

LOWEST = ROOT / "build" / "lowest" / "env"
"""The environment that `make lowest` makes; `make clean` removes it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="the Python of the environment")
    parser.add_argument("--resolution", default="lowest-direct", help="as `uv pip install` has it")
    parser.add_argument("--folder", type=Path, default=LOWEST.parent, help="of the environment")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="emulate-") as scratch:
        programs = install(wanted.folder.resolve(), wanted.python, wanted.resolution)
        use(programs, Path(scratch))


def install(folder: Path, python: str, resolution: str) -> Path:
    """Install this tree in the new environment `folder`/env; return the folder of its programs.

    Packages of wheels alone are taken, so that no version is built from its source.
    """
    _call(sys.executable, "-m", "venv", folder / "uv")
    _call(folder / "uv" / "bin" / "python", "-m", "pip", "install", "--quiet", "uv")
    uv, environment = folder / "uv" / "bin" / "uv", folder / "env"
    _call(uv, "venv", "--quiet", "--clear", "--python", python, environment)
    pip = [uv, "pip", "install", "--python", environment / "bin" / "python"]
    allowed = ["--resolution", resolution, "--only-binary", ":all:", "--no-binary", "edge-emulate"]
    _call(*pip, *allowed, f"{ROOT}[parquet]")
    return environment / "bin"


def use(programs: Path, folder: Path) -> None:
    """Type each command of `USES` in `folder` with the `emulate` of `programs`.

    Raises CalledProcessError if a command fails.
    """
    (folder / "smallest.yaml").write_bytes((ROOT / "scenarios" / "smallest.yaml").read_bytes())
    _call(programs / "emulate", "data", "digits", folder=folder)
    for typed in USES:
        _call(programs / "emulate", *typed.split(), folder=folder)


def _call(*words: str | Path, folder: Path | None = None) -> None:
    """Print the command `words`, then run it in `folder`, which lends nothing of this tree.

    A warning of a library about its next version, which a person would see, is an error.
    """
    print("$", *words, flush=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHONWARNINGS"] = "error::FutureWarning"
    subprocess.run(
        words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, check=True, timeout=1200
    )


if __name__ == "__main__":
    main()
