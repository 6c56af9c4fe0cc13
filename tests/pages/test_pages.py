"""The pages for people's own work are played from a wheel, in an empty folder, command by command.

The environment is a virtual environment, or a container that has Python and the lent packages.
"""

import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from emulator.learning.datasets import store
from emulator.runtimes.docker.images.libraries import BASE
from tests.fakes.installing.installed_wheel import Typed
from tests.fakes.installing.played_page import PlayedPage
from tests.layers import ROOT

LAB = """name: lab
training: {dataset: ./digits.npz, model: digits-mlp, algorithm: asgd}
stop: {updates: 50}
virtual: {learner: numpy, step: 20ms, boot: 100ms, serve: 1ms}
devices:
  - {name: peer, count: 4}
"""
"""With steps given, no host is calibrated; NumPy makes no graph, and loads no TensorFlow."""


def digits_and_houses(folder: Path) -> None:
    """Write the data that docs/own-data.md takes as given, made up."""
    rng = np.random.default_rng(1)
    images = rng.integers(0, 17, (400, 8, 8))
    classes = np.arange(400) % 10
    parts = {"x_train": images[:300], "y_train": classes[:300]}
    np.savez(folder / "digits.npz", **parts, x_test=images[300:], y_test=classes[300:])
    rows = [f"{rooms},{rooms * 20.5 + 1},{rooms * 1000.5}" for rooms in rng.integers(1, 9, 100)]
    (folder / "houses.csv").write_text("\n".join(["rooms,area,price", *rows]) + "\n")
    (folder / "lab.yaml").write_text(LAB)


def labs(folder: Path) -> None:
    """Write the scenarios that docs/from-python.md takes as given."""
    for name in ("lab", "quickstart", "flaky"):
        text = LAB.replace("./digits.npz", "digits").replace("name: lab", f"name: {name}")
        (folder / f"{name}.yaml").write_text(text.replace("count: 4", "count: 2"))


def failing_farm(folder: Path) -> None:
    """Write the scenario that docs/add-a-failure-profile.md takes as given."""
    text = LAB.replace("./digits.npz", "digits").replace("count: 4", "failures: [night-shift]")
    (folder / "my-scenario.yaml").write_text(text)


def own_files(folder: Path) -> None:
    """Write the models and the data that docs/own-model.md takes as given."""
    shutil.copytree(ROOT / "scenarios" / "own", folder / "scenarios" / "own")
    for name in ("models.py", "made_up.py"):
        shutil.copy(ROOT / "scenarios" / "own" / name, folder / name)


QUICK = """name: quickstart
training: {dataset: digits, model: digits-mlp, algorithm: adacomp}
stop: {updates: 40}
virtual: {step: 20ms, boot: 100ms, serve: 1ms}
devices:
  - {name: fiber, count: 4, profile: laptop, link: fios}
  - {name: phone, count: 4, profile: phone, link: lte}
"""


def quickstart(folder: Path) -> None:
    """Write a small scenario with the name and devices of the one that pages play, its traces, and
    the reader's own, `lab.yaml`."""
    (folder / "scenarios").mkdir()
    (folder / "scenarios" / "quickstart.yaml").write_text(QUICK)
    (folder / "lab.yaml").write_text(QUICK.replace("quickstart", "lab"))
    shutil.copytree(ROOT / "scenarios" / "profiles", folder / "scenarios" / "profiles")


CONTAINERS = "plays in containers: tests/installing/test_wheel.py does that"
OWN = [
    PlayedPage(
        "own-plugin.md",
        left_out={
            "emulate run half.yaml": CONTAINERS,
            "emulate test-codec ./own.py:Mine --set keep=1%": "the page does not show own.py",
        },
    ),
    PlayedPage("own-data.md", digits_and_houses),
    PlayedPage(
        "own-model.md",
        own_files,
        also=(
            "emulate check own.yaml",
            "emulate run own.yaml --on virtual --set stop.updates=40 --no-report",
        ),
    ),
    PlayedPage(
        "from-python.md",
        labs,
        before=(
            "emulate run quickstart.yaml --on virtual --no-report",
            "emulate run flaky.yaml --on virtual --no-report",
        ),
    ),
    PlayedPage("add-a-failure-profile.md", failing_farm),
]
"""Pages for people's own work."""
LAB_FILE = {"FILE": "lab.yaml"}
ON_VIRTUAL = "--on virtual --no-report --set stop.updates=40"
TUNED = "takes as long again: tests/sweeps/tuning and `make table-tune` play it"
HOURS = "takes hours: the small studies are in tests/sweeps"
PICTURE = "emulate run ──► network, containers ──► the server and its devices, "
PICTURE += "each behind a link of its own"
TRACE = "emulate trace scenarios/profiles/traces/lte-drive.mahimahi --to csv"
OTHERS = [
    PlayedPage(
        "README.md",
        left_out={
            "emulate run flaky.yaml": CONTAINERS,
            "emulate run flaky.yaml --on virtual": "takes minutes: another model plays it below",
            "emulate report flaky": "comes after the run below",
            PICTURE: "a picture",
        },
        also=(
            f"emulate run flaky.yaml {ON_VIRTUAL} --set training.dataset=digits "
            "--set training.model=digits-mlp --set stop.accuracy= --set virtual.step=20ms",
            "emulate report flaky",
        ),
        at=".",
    ),
    PlayedPage(
        "scenario.md",
        quickstart,
        left_out={
            "emulate run FILE": CONTAINERS,
            "emulate run lab.yaml --set training.batch_size=32 --set devices[0].link=dial "
            "--set stop='{time: 5min}'": CONTAINERS,
        },
        also=(
            f"emulate run lab.yaml {ON_VIRTUAL} --set training.batch_size=32 "
            "--set devices[0].link=dial --set stop.time=5min",
        ),
        words=LAB_FILE,
    ),
    PlayedPage(
        "traces.md",
        quickstart,
        left_out={f"{TRACE} > lte-drive.csv": "a shell redirects it"},
        also=(TRACE,),
    ),
    PlayedPage(
        "dilation.md", quickstart, left_out={"emulate run FILE": CONTAINERS}, words=LAB_FILE
    ),
    PlayedPage(
        "predict.md",
        quickstart,
        left_out={
            "emulate predict FILE --on docker": "takes the costs of containers from the host"
        },
        words=LAB_FILE,
    ),
    PlayedPage("schedule.md", quickstart, words=LAB_FILE),
    PlayedPage(
        "sweep.md",
        quickstart,
        left_out=dict.fromkeys(
            (
                "emulate study pulls byzantine",
                "emulate study --all --docs docs",
                "emulate study --all --quick",
            ),
            HOURS,
        )
        | dict.fromkeys(
            (
                "emulate cluster up --local 3 --dask",
                "emulate sweep lab.yaml --over training.learning_rate=0.03,0.1 --seeds 4 "
                "--cluster tcp://127.0.0.1:PORT",
                "emulate sweep lab.yaml --seeds 30 --cluster tcp://first:8786",
                "emulate cluster down",
            ),
            "tests/sweeps/cluster has one for all of its tests",
        ),
    ),
    PlayedPage("calibration.md", quickstart),
    PlayedPage(
        "tune.md",
        quickstart,
        left_out=dict.fromkeys(
            (
                "emulate tune scenarios/quickstart.yaml --set training.batch_size=32 "
                "--budget 20min --out build/tuned",
                "emulate tune scenarios/quickstart.yaml --set training.batch_size=32 "
                "--baseline fixed-sync --baseline fixed-async",
                *(
                    f"emulate tune scenarios/figures/omnivore-tune-{fleet}.yaml "
                    f"--rates 0.1,0.01 --budget {budget}s \\"
                    for fleet, budget in (
                        ("slow-half", 770),
                        ("homogeneous", 214),
                        ("shaped-links", 1200),
                    )
                ),
            ),
            TUNED,
        ),
    ),
    PlayedPage(
        "add-a-figure.md",
        labs,
        before=(
            "emulate run quickstart.yaml --on virtual --no-report",
            "emulate run quickstart.yaml --on virtual --no-report --set name=asgd",
            "emulate run quickstart.yaml --on virtual --no-report --set name=adacomp",
        ),
    ),
]
"""Pages on commands, with small scenarios in the place of those that take minutes."""
PAGES = [*OWN, *OTHERS]
LONG = {"sweep.md", "add-a-figure.md", "calibration.md", "tune.md", "own-model.md"}
"""Pages that take as long as the others together."""
BY_PAGE = pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.thorough] * (page.name in LONG))
        for page in PAGES
    ],
)


@BY_PAGE
def test_a_page_shows_commands(page: PlayedPage, tmp_path: Path) -> None:
    assert page.lay_out(tmp_path)


@pytest.mark.slow
@BY_PAGE
def test_a_page_can_be_played_from_a_wheel(page: PlayedPage, typed: Typed, tmp_path: Path) -> None:
    for command in page.lay_out(tmp_path):
        typed(*shlex.split(command))


@pytest.mark.slow
@pytest.mark.parametrize(
    "template",
    [
        *("quickstart", "failures"),
        *(
            pytest.param(template, marks=pytest.mark.thorough)
            for template in ("bottleneck", "own-model", "fleet")
        ),
    ],
)
def test_a_template_can_be_played_from_a_wheel(template: str, typed: Typed, tmp_path: Path) -> None:
    said = typed("emulate", "new", "lab", "--from", template).stdout
    assert "wrote lab.yaml" in said
    typed("emulate", "check", "lab.yaml", "--on", "virtual")
    typed("emulate", "run", "lab.yaml", "--on", "virtual")
    assert (tmp_path / "runs" / "lab" / "latest" / "report.html").is_file()


_PLAY = """set -e
python() { python3 "$@"; }
emulate() { python -c 'from emulator.cli import main; main()' "$@"; }
"""


@pytest.mark.thorough  # the gate plays them from a wheel
@pytest.mark.docker
def test_the_pages_can_be_played_in_a_clean_container(installed: Path, tmp_path: Path) -> None:
    """The image has neither pip nor a network, so folders lend it the packages and the data."""
    (site,) = installed.parent.glob("lib/python*/site-packages")
    script = _PLAY
    for page in OWN:
        folder = tmp_path / page.name
        folder.mkdir()
        script += "\n".join([f"cd /pages/{page.name}", *page.lay_out(folder), ""])
    mounts = {
        f"{site}/emulator": "/site/emulator:ro",
        **{str(info): f"/site/{info.name}:ro" for info in site.glob("edge_emulate*")},
        sysconfig.get_paths()["purelib"]: "/lent:ro",
        str(store.folder("digits")): "/cache/data/digits:ro",
        str(tmp_path): "/pages",
    }
    options = ["--rm", "--network", "none"]
    options += ["--env", "PYTHONPATH=/site:/lent", "--env", "EMULATE_CACHE=/cache"]
    options += [f"--volume={host}:{place}" for host, place in mounts.items()]
    done = subprocess.run(
        ["docker", "run", *options, BASE, "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2.0x less than dense" in done.stdout
    assert (tmp_path / "own-plugin.md" / "runs" / "half" / "latest" / "report.html").is_file()
