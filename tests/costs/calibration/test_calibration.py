"""What is kept of a calibration, what is believed of what was kept, and the command."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from emulator.cli.prepare.calibrate import calibrate
from emulator.codecs import AnyCodec, Dense, TopK
from emulator.costs import calibration
from emulator.costs.calibration import (
    Calibration,
    LayerSeconds,
    calibrated,
    measuring,
    record,
    store,
)
from emulator.costs.calibration.record import described, find, read
from emulator.errors import HostError
from emulator.scenario import dump, loads
from emulator.scenario.sections.virtual_section import Virtual
from emulator.units import Fraction, Seconds
from emulator.world.laws import Fixed
from tests.fakes.made_up_calibration import CODEC, FOUND, stored
from tests.layers import ROOT

pytestmark = pytest.mark.usefixtures("calibration_cache")


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


def test_it_is_measured_once(asked: list[Any], calibration_cache: Path) -> None:
    first = ask()
    assert (ask(), len(asked)) == (first, 1)
    assert stored() == [first]
    assert [file.name for file in calibration_cache.iterdir()] == [first.file.name]


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
    "a number beyond all": json.dumps({**PLAIN, "boot": {"fixed": 10**400}}),
    "a list of lists": "[" * 5_000,
    "another model's": json.dumps({**PLAIN, "model": "mnist-cnn"}),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_measured_again(
    asked: list[Any], content: str | bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    store(FOUND)
    data = content if isinstance(content, bytes) else content.encode()
    FOUND.file.write_bytes(data)
    assert (ask(), len(asked)) == (FOUND, 1)
    assert capsys.readouterr().err.startswith(f"emulate: {FOUND.file} is damaged (")
    assert (ask(), len(asked)) == (FOUND, 1)
    assert capsys.readouterr().err == ""


def test_what_is_read_is_what_was_kept() -> None:
    store(FOUND)
    assert read(json.loads(FOUND.file.read_text())) == FOUND
    assert stored() == [FOUND]
    (FOUND.file.parent / "other.json").write_text("{")
    assert stored() == [FOUND]
    assert find("here", "Some Processor", "digits-mlp", 11, "topk 1%") is None


def test_nowhere_to_keep_it(calibration_cache: Path, asked: list[Any]) -> None:
    calibration_cache.parent.mkdir()
    calibration_cache.touch()
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


@pytest.mark.parametrize("words", [("--layers",), ("schedule",)], ids=["option", "schedule"])
def test_the_command_measures_layers_where_they_matter(
    asked: list[Any], words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure_layers(model: str, batch_size: int, tell: Any) -> LayerSeconds:
        seconds = (0.00123, 0.002, 0.003)
        return LayerSeconds("here", "Some Processor", model, batch_size, seconds, seconds)

    monkeypatch.setattr(measuring, "measure_layers", measure_layers)
    if words == ("schedule",):
        file = tmp_path / "pair.yaml"
        file.write_text(
            "{name: pair, training: {dataset: digits, model: digits-mlp, codec: dense,"
            " schedule: dynacomm}, stop: {updates: 9}, devices: [{name: a}]}"
        )
        words = (str(file),)
    else:
        words = ("--model", "digits-mlp", *words)
    out = told(*words)
    assert re.search(r"\n1 +1.23ms +1.23ms *\n", out)
    assert re.search(r"\nall +6.23ms +6.23ms *\n", out)
    assert record.find_layers("here", "Some Processor", "digits-mlp", 10) is not None
    content = json.loads(told(*words, "--json"))
    assert content["layers"]["forward"] == [0.00123, 0.002, 0.003]
    assert "layers" not in json.loads(told("--model", "digits-mlp", "--json"))


@pytest.mark.parametrize(
    "words, said",
    [
        (("--model", "digits-mpl"), "did you mean 'digits-mlp'?"),
        (("--batch-size", "0"), "x>=1"),
        (("x.yaml", "--model", "digits-mlp"), "give FILE or the options"),
        (("--set", "seed=2"), "give FILE too"),
    ],
)
def test_a_slip_of_the_fingers(asked: list[Any], words: tuple[str, ...], said: str) -> None:
    assert said in told(*words, code=2)
    assert asked == stored() == []
