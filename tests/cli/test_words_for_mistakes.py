"""Mistakes as JSON from every command with `--json`, remedies for words of other programs, output
in any locale, and help that names only files that a user has."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from emulator.cli import entry
from emulator.cli.entry import commands
from emulator.cli.output import enduring
from emulator.errors import ScenarioError
from emulator.scenario import loads
from emulator.scenario import schema as json_schema
from tests.fakes.installing.doc_blocks import blocks
from tests.fakes.typed_commands import Emulate
from tests.layers import ROOT

EMULATE = str(Path(sys.executable).with_name("emulate"))
BROKEN = "name: lab\nstop: {update: 3}\n"

WITH_JSON = sorted(
    name
    for name, command in commands.commands.items()
    if any(isinstance(each, click.Option) and "--json" in each.opts for each in command.params)
)
WORDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("link",), ("box", "--up", "{latency: 3ms}")),
    **dict.fromkeys(("list", "doctor", "profiles"), ("--nonsense",)),
    **dict.fromkeys(("compare", "resume"), ("nothing",)),
    "test-codec": ("./nothing.py:Half",),
    "model": ("./nothing.py:build",),
    "trace": ("broken.yaml",),
    "stop": ("nothing",),
}


@pytest.mark.parametrize("name", WITH_JSON)
def test_every_command_with_json_gives_mistakes_as_json(
    emulate: Emulate, tmp_path: Path, name: str
) -> None:
    (tmp_path / "broken.yaml").write_text(BROKEN)
    said = emulate(name, *WORDS.get(name, ("broken.yaml",)), "--json")
    assert said.code, said.out
    mistakes = json.loads(said.out)["mistakes"]
    assert mistakes and all(
        mistake.keys() == {"file", "line", "place", "message"} for mistake in mistakes
    )


LATE: dict[str, tuple[tuple[str, ...], str]] = {
    "no example for a device": (("data", "./few.csv", "--devices", "40"), "without an example"),
    **{
        words[0]: ((*words, "--figure", "mine.png"), "was not drawn by `emulate`")
        for words in (
            ("data", "./few.csv", "--devices", "2"),
            ("plan", "lab.yaml"),
            ("trace", "trace.csv"),
            ("profiles", "flaky-home"),
            ("predict", "--costs", "groups.json"),
            ("schedule", "--costs", "layers.json"),
        )
    },
}
"""Commands with a mistake that is found after the JSON is printed, and its words."""


@pytest.mark.parametrize("words, said", LATE.values(), ids=LATE)
def test_a_late_mistake_leaves_one_document_of_json(
    emulate: Emulate, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "mine.png").write_text("mine")
    (tmp_path / "few.csv").write_text("a,label\n" + "".join(f"{n},{n % 2}\n" for n in range(20)))
    (tmp_path / "trace.csv").write_text("seconds,rate_mbit\n0,1\n10,end\n")
    (tmp_path / "lab.yaml").write_text(f"name: lab\n{LAB}stop: {{updates: 5}}\n")
    (tmp_path / "groups.json").write_text('{"devices": 4, "t_conv": 1.15, "t_fc": 0.0425}')
    layers = {"setup": 2, "pull": [1], "forward": [1], "backward": [2], "push": [1]}
    (tmp_path / "layers.json").write_text(json.dumps(layers))
    done = emulate(*words, "--json")
    assert done.code and said in done.err, done
    assert "mistakes" not in json.loads(done.out)


LAB = "training: {dataset: digits, model: digits-mlp, codec: dense}\ndevices: [{name: a}]\n"


@pytest.mark.parametrize(
    "given, message",
    [
        ("stop: {accuracy: 0.97}", "write it in %, as 97%"),
        ("stop: {accuracy: 97}", "write it in %, as 97%"),
        ("stop: {updates: 5}\nbatch_size: 3", "there is training.batch_size"),
        ("stop: {updates: 5}\nlr: 3", "there is training.learning_rate"),
        ("stop: {updates: 5}\nserver: {link: {up: {latency: 3ms}}}", "did you mean 'delay'?"),
        ("stop: {updates: 5}\nserver: {link: {up: {bandwidth: 3mbit}}}", "did you mean 'rate'?"),
        ("stop: {updates: 5}\nseed: 99999999999999999999999", "is too large: write at most 18"),
        ("stop: {updates: 5}\nx: &a {b: 1}\nserver: {<<: *a}", "YAML 1.2 has no merge keys"),
    ],
)
def test_a_mistake_has_a_remedy(given: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(message)):
        loads(f"name: lab\n{LAB}{given}\n")


@pytest.mark.parametrize(
    "given, message",
    [
        ("training.optimizer=SGD", "did you mean 'sgd'?"),
        ("training.algorithm=FedAvg", "did you mean 'fedavg'?"),
        ("training.dataset=MNIST", "did you mean 'mnist'?"),
        ("training.dataset=Fashion_MNIST", "did you mean 'fashion-mnist'?"),
        ("training.dataset=cifar10", "nor a path, as ./data.npz"),
        ("training.model=resnet18", "./file.py:function for your own"),
        ("training.model=vit", "./file.py:"),
        ("training.model=./net.keras", "keras.models.load_model"),
        ("training.model=./net.h5", "keras.models.load_model"),
    ],
)
def test_a_word_of_another_program_has_a_remedy(given: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(message)):
        loads(f"name: lab\n{LAB}stop: {{updates: 5}}\n", (given,))


@pytest.mark.parametrize("text, value", [("0o17", 15), ("0x1F", 31), ("017", 17)])
def test_whole_numbers_are_those_of_yaml_1_2(text: str, value: int) -> None:
    assert loads(f"name: lab\n{LAB}stop: {{updates: {text}}}\n").stop.updates == value


# -- output in any locale ------------------------------------------------------------------------

LOCALES = [
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "latin-1"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


def _typed(words: list[str], folder: Path, environment: dict[str, str], out: str = "") -> tuple:
    given = os.environ | {"EMULATE_CACHE": str(folder / "cache")} | environment
    with open(out or os.devnull, "wb") as sink:
        done = subprocess.run(
            [EMULATE, *words],
            cwd=folder,
            env=given,
            stdout=sink if out else subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    return done.returncode, done.stdout or b"", done.stderr


IN_TURN = """
import json, sys
from emulator.cli import main

for words in json.loads(sys.stdin.read()):
    sys.argv, code = ["emulate", *words], 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code or 0
    for stream in (sys.stdout, sys.stderr):
        print(f"ENDED {code}", file=stream, flush=True)
"""
"""Types commands, one after the other, in one process."""


@pytest.mark.slow
@pytest.mark.parametrize("locale", LOCALES, ids=lambda locale: "-".join(locale.values()))
def test_any_locale_takes_any_name(tmp_path: Path, locale: dict[str, str]) -> None:
    (tmp_path / "日本").mkdir()
    file = tmp_path / "日本" / "狗.yaml"
    file.write_text(
        f"name: lab\n{LAB}stop: {{updates: 5}}\nvirtual: {{step: 1ms, boot: 1s, serve: 1ms}}\n"
    )
    (tmp_path / "日本" / "data.csv").write_text(
        "a,b,label\n" + "".join(f"{n},{n % 7},{'狗貓鳥'[n % 3]}$x$\n" for n in range(60))
    )
    commands = [
        ["check", "日本/狗.yaml", "--on", "virtual"],
        ["check", "日本/狗.yaml", "--set", "training.dataset=./犬.csv"],
        ["plan", "日本/狗.yaml"],
        ["data", "日本/data.csv", "--devices", "3"],
        ["algorithms"],
        ["run", "日本/none.yaml"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN],
        input=json.dumps(commands).encode(),
        cwd=tmp_path,
        env=os.environ | {"EMULATE_CACHE": str(tmp_path / "cache")} | locale,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    ends = re.compile(rb"^ENDED (\d+)\n", re.MULTILINE)
    out, err = (ends.split(stream) for stream in (done.stdout, done.stderr))
    assert len(out) == len(err) == 2 * len(commands) + 1
    for number, words in enumerate(commands):
        said, complained, code = out[2 * number], err[2 * number], int(err[2 * number + 1])
        assert b"Traceback" not in complained and b"Warning" not in complained, (words, complained)
        assert code in (0, 1, 2) and (said or complained)


QUICK = "virtual: {learner: none, step: 10ms, serve: 1ms, boot: 1s}\n"
VIRTUAL = ["--on", "virtual", "--no-report"]


@pytest.mark.parametrize(
    "words",
    [
        ["check", "lab.yaml", "--on", "virtual"],
        ["run", "lab.yaml", *VIRTUAL],
        ["run", "lab.yaml", *VIRTUAL, "--json"],
        ["run", "lab.yaml", *VIRTUAL, "--set", "training.learning_rate=1e30"],
        ["resume", "lab", "--no-report"],
        pytest.param(["sweep", "lab.yaml", "--seeds", "1"], marks=pytest.mark.slow),
        ["test-codec", "dense"],
        ["doctor"],
        ["list"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("data")
def test_a_full_disk_is_told_by_every_command(
    emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    (tmp_path / "lab.yaml").write_text(f"name: lab\n{LAB}stop: {{updates: 5}}\n{QUICK}")
    if words[0] == "resume":
        assert emulate("run", "lab.yaml", *VIRTUAL).code == 0
        (tmp_path / "runs" / "lab" / "latest" / "summary.json").unlink()
    with open("/dev/full", "w", encoding="utf-8") as full, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", full)
        said = emulate(*words)
    assert said.code == 1
    told = "emulate: standard output cannot be written: No space left on device\n"
    assert said.err.endswith(told) and said.err.count(told) == 1, said.err


@pytest.mark.parametrize("given, code", [(0, 1), (None, 1), (1, 1), (2, 2), (130, 130)])
def test_a_full_disk_keeps_the_exit_code_of_a_failure(
    monkeypatch: pytest.MonkeyPatch, given: int | None, code: int
) -> None:
    @enduring()
    def ends(**_: object) -> None:
        click.echo("lost")
        sys.exit(given)

    monkeypatch.setattr(entry, "commands", ends)
    monkeypatch.setattr(sys, "argv", ["emulate"])
    with open("/dev/full", "w", encoding="utf-8") as full, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", full)
        with pytest.raises(SystemExit) as end:
            entry.main()
    assert end.value.code == code


@pytest.mark.slow
@pytest.mark.parametrize("words", [["check", "lab.yaml"], ["algorithms"], ["--help"], ["schema"]])
def test_a_full_disk_is_one_sentence(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "lab.yaml").write_text(f"name: lab\n{LAB}stop: {{updates: 5}}\n")
    code, _, err = _typed(words, tmp_path, {}, "/dev/full")
    assert code == 1
    assert err == b"emulate: standard output cannot be written: No space left on device\n"


# -- help and links ------------------------------------------------------------------------------

_OWN = r"(?<![\w/.-])((?:scenarios|docs|tests|images|analysis|emulator)/[\w./*-]+)"


@pytest.mark.parametrize("name", sorted(commands.commands))
def test_help_names_no_file_that_only_a_checkout_has(emulate: Emulate, name: str) -> None:
    named = set(re.findall(_OWN, emulate(name, "--help").out)) - {"scenarios/*.yaml"}
    assert named == set()


def _descriptions(schema: Any) -> Iterator[str]:
    """Yield each description in the JSON `schema`."""
    for key, value in schema.items() if isinstance(schema, dict) else enumerate(schema):
        if key == "description" and isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            yield from _descriptions(value)


def test_the_schema_names_no_file_that_only_a_checkout_has() -> None:
    texts = list(_descriptions(json_schema()))
    assert len(texts) > 100
    assert [text for text in texts if re.search(_OWN, text)] == []


def test_the_schema_counts_paths_as_the_page_on_paths_does() -> None:
    texts = [text for text in _descriptions(json_schema()) if "the scenario's folder" in text]
    assert len(texts) > 4
    assert [text for text in texts if "in an option from the working directory" not in text] == []


def test_the_line_for_editors_is_that_of_the_command(emulate: Emulate, tmp_path: Path) -> None:
    """The installed schema has another place than the one beside a new scenario."""
    words = " ".join(emulate("schema", "--install").out.split())
    assert "`emulate new` writes the line with a schema beside the scenario" in words
    assert "`$XDG_CACHE_HOME`" in emulate("schema", "--help").out


def _anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of `page`."""
    heads = re.findall(r"^#+ +(.*)$", page.read_text(), re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head).lower() for head in heads)
    found: list[str] = []
    for head in plain:
        anchor = re.sub(r"[^\w\- ]", "", head).strip().replace(" ", "-")
        number = sum(each == anchor or each.startswith(f"{anchor}-") for each in found)
        found.append(anchor if anchor not in found else f"{anchor}-{number}")
    return set(found)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_links_lead_to_headings(page: Path) -> None:
    links = re.findall(r"\]\(([^):#\s]*)#([^)\s]+)\)", page.read_text())
    broken = [
        f"{file}#{anchor}"
        for file, anchor in links
        if anchor not in _anchors(page.parent / file if file else page)
    ]
    assert broken == []


def test_a_new_scenario_names_no_path_of_a_machine(emulate: Emulate, tmp_path: Path) -> None:
    assert emulate("new", "lab").code == 0
    text = (tmp_path / "lab.yaml").read_text()
    (schema,) = re.findall(r"\$schema=(\S+)", text)
    assert schema == "scenario.schema.json" and (tmp_path / schema).is_file()
    assert str(tmp_path) not in text and str(Path.home()) not in text


# -- from Python ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_analysis_has_one_name_in_a_checkout_and_in_a_wheel(tmp_path: Path) -> None:
    code = (
        "import analysis, emulator, emulator.analysis.errors\n"
        "from emulator.analysis import load\n"
        "assert load is emulator.analysis.load is analysis.load\n"
        "assert emulator.analysis.errors.RunError is analysis.RunError\n"
    )
    words = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_the_documented_surface_has_the_modules_that_plugins_import() -> None:
    surface = (ROOT / "docs" / "from-python.md").read_text().partition("## The stable surface")[2]
    shown = [text for page in ("own-plugin.md",) for text in blocks(ROOT / "docs" / page, "python")]
    modules = {name for text in shown for name in re.findall(r"from emulator\.(\w+)", text)}
    assert modules and {name for name in modules if f"`emulator.{name}`" not in surface} == set()
