"""What is measured, what is kept of it, and what is believed of what was kept."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from emulator import calibration
from emulator.calibration import Calibration, calibrated, measuring, store, stored
from emulator.calibration.record import described, find, read, rounded
from emulator.cli.calibrate import calibrate
from emulator.codecs import AnyCodec, Dense, TopK
from emulator.errors import HostError
from emulator.laws import Fixed, LogNormal
from emulator.scenario import dump, loads
from emulator.scenario.model import Virtual
from emulator.units import Fraction, Seconds

ROOT = Path(__file__).parents[1]
CODEC = TopK(keep=Fraction(0.01))
FOUND = Calibration(
    host="here",
    processor="Some Processor",
    date="2026-05-17",
    model="digits-mlp",
    batch_size=10,
    codec="topk 1%",
    step=LogNormal((Seconds(0.00406), 0.0712)),
    boot=Fixed(Seconds(0.412)),
    serve=Fixed(Seconds(0.00182)),
)


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, on a host that is called `here`."""
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path / "cache"))
    for place in (calibration, measuring):
        monkeypatch.setattr(place, "here", lambda: ("here", "Some Processor"))
    return tmp_path / "cache" / "calibration"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What was asked to be measured; the answer comes at once."""
    asked: list[tuple[Any, ...]] = []

    def measure(
        model: str, batch_size: int, codec: AnyCodec, tell: Any, *, error_feedback: bool = False
    ) -> Calibration:
        asked.append((model, batch_size, codec, error_feedback))
        words = described(codec, error_feedback)
        return replace(FOUND, model=model, batch_size=batch_size, codec=words)

    monkeypatch.setattr(calibration, "measure", measure)
    return asked


def ask(
    model: str = "digits-mlp", batch_size: int = 10, codec: AnyCodec = CODEC, **more: Any
) -> Calibration:
    return calibrated(model, batch_size, codec, lambda step: None, **more)


# -- what is kept ----------------------------------------------------------------------------------


def test_it_is_measured_once(asked: list[Any], kept: Path) -> None:
    first = ask()
    assert (ask(), len(asked)) == (first, 1)
    assert stored() == [first]
    assert [file.name for file in kept.iterdir()] == [first.file.name]


def test_each_model_batch_and_codec_has_its_own(asked: list[Any]) -> None:
    variants: list[dict[str, Any]] = [
        {},
        {"model": "mnist-cnn"},
        {"batch_size": 32},
        {"codec": TopK(keep=Fraction(0.02))},
        {"codec": Dense()},
        {"error_feedback": True},
    ]
    for variant in variants * 2:
        ask(**variant)
    assert len(asked) == len(stored()) == len(variants)


@pytest.mark.parametrize("other", [("there", "Some Processor"), ("here", "Another One")])
def test_another_machine_measures_for_itself(
    asked: list[Any], other: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask()
    monkeypatch.setattr(calibration, "here", lambda: other)
    ask()
    assert len(asked) == 2


PLAIN = FOUND.plain()
DAMAGED = {
    "cut short": json.dumps(PLAIN)[:-9],
    "no text": b"\xff\xfe",
    "a list": "[1]",
    "nothing": "null",
    "a key short": json.dumps({k: v for k, v in PLAIN.items() if k != "boot"}),
    "a key too many": json.dumps({**PLAIN, "kernel": "6"}),
    "no time of the server's": json.dumps({k: v for k, v in PLAIN.items() if k != "serve"}),
    "a server that takes no time": json.dumps({**PLAIN, "serve": {"fixed": 0.0}}),
    "another law": json.dumps({**PLAIN, "step": {"fixed": 1.0}}),
    "a time of zero": json.dumps({**PLAIN, "step": {"lognormal": [0.0, 0.1]}}),
    "not a number": json.dumps({**PLAIN, "boot": {"fixed": float("nan")}}),
    "a word for a time": json.dumps({**PLAIN, "boot": {"fixed": "soon"}}),
    "a number for a word": json.dumps({**PLAIN, "host": 7}),
    "another model's": json.dumps({**PLAIN, "model": "mnist-cnn"}),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_measured_again(asked: list[Any], content: str | bytes) -> None:
    store(FOUND)
    data = content if isinstance(content, bytes) else content.encode()
    FOUND.file.write_bytes(data)
    assert (ask(), len(asked)) == (FOUND, 1)
    assert (ask(), len(asked)) == (FOUND, 1)


def test_what_is_read_is_what_was_kept() -> None:
    store(FOUND)
    assert read(json.loads(FOUND.file.read_text())) == FOUND
    assert stored() == [FOUND]
    (FOUND.file.parent / "other.json").write_text("{")
    assert stored() == [FOUND]
    assert find("here", "Some Processor", "digits-mlp", 11, "topk 1%") is None


def test_nowhere_to_keep_it(kept: Path, asked: list[Any]) -> None:
    kept.parent.mkdir()
    kept.touch()
    with pytest.raises(HostError, match=r"cannot keep the calibration in .*: set EMULATE_CACHE"):
        ask()


@pytest.mark.parametrize(
    "codec, feedback, words",
    [
        (CODEC, False, "topk 1%"),
        (CODEC, True, "topk 1% error feedback"),
        (TopK(keep=Fraction(0.005), indices="u32"), False, "topk 0.5% u32"),
        (Dense(), False, "dense"),
    ],
)
def test_a_codec_in_a_few_words(codec: AnyCodec, feedback: bool, words: str) -> None:
    assert described(codec, feedback) == words


def test_the_laws_stand_in_a_scenario_as_people_write_them() -> None:
    text = (ROOT / "scenarios" / "quickstart.yaml").read_text()
    scenario = loads(text, folder=ROOT / "scenarios")
    assert scenario.virtual.open
    virtual = scenario.virtual.filled(step=FOUND.step, boot=FOUND.boot, serve=FOUND.serve)
    assert not virtual.open
    written = dump(scenario.model_copy(update={"virtual": virtual}))
    assert "lognormal: [4.06ms, 0.0712]" in written
    assert "fixed: 412ms" in written
    assert "fixed: 1.82ms" in written
    assert loads(written).virtual == virtual


def test_a_server_of_this_host_does_not_serve_devices_of_none() -> None:
    laws = {"step": FOUND.step, "boot": FOUND.boot, "serve": FOUND.serve}
    second = Fixed(Seconds(1.0))
    assert Virtual(step=second).filled(**laws) == Virtual(step=second, boot=FOUND.boot)
    assert Virtual(boot=second).filled(**laws).serve == FOUND.serve
    assert Virtual(serve=second).filled(**laws).serve == second
    assert Virtual(step=second, serve=second).filled(**laws).serve == second


# -- what is measured ------------------------------------------------------------------------------


def test_the_law_is_that_of_the_middle_half() -> None:
    rng = np.random.default_rng(0)
    steps = (0.004 * np.exp(0.08 * rng.standard_normal(4000))).tolist()
    law = measuring.law([*steps, *[10.0] * 40])
    assert law.lognormal[0] == pytest.approx(0.004, rel=0.02)
    assert law.lognormal[1] == pytest.approx(0.08, rel=0.08)
    assert str(Seconds(rounded(0.00406123))) == "4.06ms"
    assert measuring.law([0.004] * 9) == LogNormal((Seconds(0.004), 1e-3))


def test_a_processs_cpu_time_is_its_own() -> None:
    assert measuring.cpu_time(os.getpid()) == pytest.approx(time.process_time(), abs=0.05)
    code = "sum(range(10**7)); import sys; print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as busy:
        assert busy.stdout
        busy.stdout.readline()
        assert 0.05 < measuring.cpu_time(busy.pid) < 5.0
        time.sleep(0.2)  # in which it waits
        rested = measuring.cpu_time(busy.pid)
        time.sleep(0.2)
        assert measuring.cpu_time(busy.pid) < rested + 0.05


def test_a_meter_leaves_the_first_steps_out(monkeypatch: pytest.MonkeyPatch) -> None:
    cold = [0.5, 0.7, *[0.71] * (measuring.WARM - 1)]
    clock = iter([*cold, *(1.0 + 0.25 * step for step in range(measuring.STEPS + 1))])
    monkeypatch.setattr(measuring, "cpu_time", lambda process: next(clock))
    monkeypatch.setattr(measuring, "REST", 0.0)
    meter = measuring.Meter(0)
    meter.note({"what": "hello"})
    meter.note({"what": "start"})
    while not meter.full:
        meter.note({"what": "pull"})
        meter.note({"what": "update"})
    assert meter.readings[0] == 0.5
    assert meter.steps == [0.25] * measuring.STEPS


def test_a_worker_has_a_containers_environment() -> None:
    text = (ROOT / "images" / "node" / "Dockerfile").read_text()
    given = dict(re.findall(r"([A-Z_]+)=(\S+)", text))
    assert {name: given.get(name) for name in measuring.ENVIRONMENT} == measuring.ENVIRONMENT
    threads = {name for name in given if name.endswith("THREADS") or name.startswith("MALLOC")}
    assert threads <= measuring.ENVIRONMENT.keys()


NUMPY = """
from emulator import models
from emulator.learners import device, graph
from emulator.learners.numpy import NumpyLearner
layout = models.find("digits-mlp").layout
graph.read_layout = lambda folder: layout
device.GraphLearner = lambda folder: NumpyLearner(layout)
"""


@pytest.fixture
def by_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but TensorFlow: NumPy finds the gradients here."""
    monkeypatch.setattr(measuring, "exported", lambda model: tmp_path)
    monkeypatch.setattr(measuring, "_WORKER", NUMPY + measuring._WORKER)


@pytest.mark.usefixtures("by_numpy")
@pytest.mark.parametrize("codec, feedback", [(CODEC, False), (Dense(), False), (CODEC, True)])
def test_a_worker_is_measured(
    codec: AnyCodec, feedback: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "WORKERS", 1)
    monkeypatch.setattr(measuring, "REST", 0.0)
    monkeypatch.setattr(measuring.tempfile, "tempdir", str(tmp_path))
    told: list[str] = []
    found = measuring.measure("digits-mlp", 32, codec, told.append, error_feedback=feedback)
    assert (found.host, found.model, found.batch_size) == ("here", "digits-mlp", 32)
    assert found.codec == described(codec, feedback)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found.date)
    assert 5e-5 < found.step.lognormal[0] < 0.05 < found.boot.fixed < 20
    assert 1e-3 <= found.step.lognormal[1] < 2
    assert 2e-5 < found.serve.fixed < 0.05
    assert told == ["graphs", "calibrating digits-mlp, batch 32: a few seconds"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("by_numpy")
def test_a_worker_is_measured_while_other_things_happen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "SELDOM", 0.01)
    monkeypatch.setattr(measuring.tempfile, "tempdir", str(tmp_path))
    with measuring.alongside("digits-mlp", 32, CODEC) as meter:
        wait_for(lambda: len(meter.steps) >= measuring.FEW)
    found = meter.refined(FOUND)
    assert 5e-5 < found.step.lognormal[0] < 0.05
    assert 2e-5 < found.serve.fixed < 0.05
    assert found.boot == FOUND.boot
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("by_numpy")
def test_other_things_may_be_too_short_to_measure_by() -> None:
    with measuring.alongside("digits-mlp", 32, CODEC) as meter:
        pass
    assert meter.refined(FOUND) == FOUND


def test_other_things_are_not_kept_from_failing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "exported", lambda model: tmp_path)
    monkeypatch.setattr(measuring, "_WORKER", "raise SystemExit('no such library')")
    looked, check = threading.Event(), measuring._check

    def looking(*what: Any) -> None:
        try:
            check(*what)
        finally:
            looked.set()

    monkeypatch.setattr(measuring, "_check", looking)
    with (
        pytest.raises(HostError, match=r"\(failed\):\nno such library"),
        measuring.alongside("digits-mlp", 10, CODEC),
    ):
        assert looked.wait(20)


def test_a_worker_that_ends_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "exported", lambda model: tmp_path)
    monkeypatch.setattr(measuring, "_WORKER", "raise SystemExit('no such library')")
    with pytest.raises(HostError, match=r"cannot calibrate: .* \(failed\):\nno such library"):
        measuring.measure("digits-mlp", 10, CODEC, lambda step: None)


ENDLESS = """
import sys
from pathlib import Path
from emulator.calibration import measuring
from tests.test_calibration import CODEC, NUMPY
measuring.exported = Path
measuring.STEPS, measuring.SPAN = 10**9, 1e9
measuring._WORKER = NUMPY + measuring._WORKER
measuring.measure("digits-mlp", 10, CODEC, lambda step: None)
"""


def test_a_worker_outlives_nobody(tmp_path: Path) -> None:
    """Not even one who was shot, and could clean up nothing."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", ENDLESS], cwd=ROOT, env=environment) as measuring:
        children = Path(f"/proc/{measuring.pid}/task/{measuring.pid}/children")
        try:
            worker = wait_for(lambda: children.read_text().split())[0]
        finally:
            measuring.kill()
    try:
        wait_for(lambda: not alive(worker))
    finally:
        with suppress(ProcessLookupError):
            os.kill(int(worker), signal.SIGKILL)


def alive(process: str) -> bool:
    """Not gone, nor waiting for its parent to notice."""
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except OSError:
        return False


def wait_for(what: Callable[[], Any]) -> Any:
    until = time.monotonic() + 20
    while not (found := what()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return found


def test_an_unknown_model() -> None:
    with pytest.raises(ValueError, match="did you mean 'digits-mlp'"):
        measuring.measure("digits-mpl", 10, CODEC, lambda step: None)


@pytest.mark.tensorflow
def test_a_larger_batch_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the graphs that are there may serve
    small, large = (
        measuring.measure("mnist-cnn", size, CODEC, lambda step: None) for size in (10, 32)
    )
    assert 1e-3 < small.step.lognormal[0] < large.step.lognormal[0] < 0.1
    assert 0.1 < small.boot.fixed < 10


# -- the command -----------------------------------------------------------------------------------


def told(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(calibrate, words, catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.output


def test_the_command_measures_anew_and_keeps(asked: list[Any]) -> None:
    out = told()
    told()
    assert asked == [("mnist-cnn", 10, CODEC, False)] * 2
    assert len(stored()) == 1
    for words in (
        "mnist-cnn, batch 10, topk 1%, on here (Some Processor)",
        "step  4.06ms of a core, sigma 0.0712",
        "boot  412ms of a core",
        "serve 1.82ms of a core",
        str(stored()[0].file),
    ):
        assert words in out, words
    assert re.search(r"raspberry-pi-4 +10% +40.6ms +4.12s", out)
    assert re.search(r"\(no profile\) +no quota +4.06ms +412ms", out)


def test_the_command_for_scripts(asked: list[Any]) -> None:
    content = json.loads(told("--json", "--model", "digits-mlp", "--batch-size", "32"))
    assert asked == [("digits-mlp", 32, CODEC, False)]
    assert content["step"] == {"lognormal": [0.00406, 0.0712]}
    assert content["devices"]["laptop"]["step"] == pytest.approx(0.00406 / 0.4)
    assert json.loads(Path(content["file"]).read_text()).items() <= content.items()


def test_the_command_for_a_scenario(asked: list[Any], tmp_path: Path) -> None:
    mine = tmp_path / "profiles" / "devices"
    mine.mkdir(parents=True)
    (mine / "toaster.yaml").write_text("cpu: 1%\n")
    (mine / "mains.yaml").write_text("memory: 1GiB\n")
    (mine / "wrong.yaml").write_text("cpu: much\n")
    file = tmp_path / "pair.yaml"
    file.write_text(
        "{name: pair, training: {dataset: digits, model: digits-mlp, codec: dense,"
        " error_feedback: true}, stop: {updates: 9}, devices: [{name: a}]}"
    )
    out = told(str(file), "--set", "training.batch_size=7")
    assert asked == [("digits-mlp", 7, Dense(), True)]
    assert re.search(r"toaster +1% +406ms +41.2s", out)
    assert "mains" not in out and "wrong" not in out


@pytest.mark.parametrize(
    "words, said",
    [
        (("--model", "digits-mpl"), "did you mean 'digits-mlp'?"),
        (("--batch-size", "0"), "x>=1"),
        (("x.yaml", "--model", "digits-mlp"), "give it or the options"),
        (("--set", "seed=2"), "name the scenario"),
    ],
)
def test_a_slip_of_the_fingers(asked: list[Any], words: tuple[str, ...], said: str) -> None:
    assert said in told(*words, code=2)
    assert asked == stored() == []
