"""The file of a study: grids, the quick version, a user's entries, and its mistakes."""

from pathlib import Path

import pytest

from emulator.errors import ScenarioError
from emulator.sweeps.studies import chosen
from emulator.sweeps.studies.study_file import read_study
from tests.fakes.typed_commands import Emulate
from tests.layers import ROOT

FILE = """
name: made-up
question: Is anything learnt?
about: of nothing
source: nobody
scenario: base.yaml
make: figure-made-up
base: plain
also: [["kept, c = 1%", plain]]
entries:
  - worlds: {one: {set: {stop.updates: 10}}, two: }
    rates: [0.1, 0.2, 0.4]
    entries: {plain: {}}
  - worlds: {one: }
    over:
      c: {key: training.codec.keep, values: [10%, 1%]}
      b: {key: training.batch_size, values: [5]}
    rates: [0.5]
    entries: {kept: {set: {training.codec: {kind: topk, keep: 5%}}}}
quick: {set: {stop.updates: 2}, rates: 1, worlds: [one], over: {c: [1%]}}
tables: [{columns: [anything]}]
claims: {any: {claim: a claim, rule: less}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "paper").mkdir()
    made = tmp_path / "paper" / "made-up.yaml"
    made.write_text(FILE.replace('"kept, c = 1%"', '"kept, c = 1%, b = 5"'))
    return made


def refusal(file: Path, added: Path | None = None) -> list[str]:
    with pytest.raises(ScenarioError) as refused:
        read_study(file, added)
    return [line.removeprefix(f"{added or file}:") for line in str(refused.value).splitlines()]


def test_an_entry_is_played_with_every_value_on_the_grids(file: Path) -> None:
    study = read_study(file)
    kept = [entry for entry in study.entries if entry.over]
    assert [entry.name for entry in kept] == ["kept, c = 10%, b = 5", "kept, c = 1%, b = 5"]
    assert [entry.written for entry in kept] == ["kept", "kept"]
    assert kept[1].over == {"c": "1%", "b": "5"}
    # the value on the grid counts after the entry's own
    assert kept[1].sets[-2:] == ('training.codec.keep="1%"', "training.batch_size=5")
    assert (study.question, study.paper) == ("Is anything learnt?", "paper")


def test_a_value_on_a_grid_may_set_several_keys(file: Path) -> None:
    fleets = "n: {values: {4: {count: 4, size: 32}, 16: {count: 16, size: 8}}}"
    text = file.read_text().replace("b: {key: training.batch_size, values: [5]}", fleets)
    text = text.replace("c = 1%, b = 5", "c = 1%, n = 16").replace(
        "over: {c: [1%]}", "over: {n: [4]}"
    )
    file.write_text(text)
    study = read_study(file)
    kept = [entry for entry in study.entries if entry.over]
    assert [entry.name for entry in kept][:2] == ["kept, c = 10%, n = 4", "kept, c = 10%, n = 16"]
    assert kept[1].sets[-2:] == ("count=16", "size=8")
    assert [entry.over["n"] for entry in study.smaller().entries if entry.over] == ["4", "4"]


GRIDS = {
    "{values: {4: 5}}": "entries[1].over.b.values.4: 5 is not a mapping",
    "{values: {}}": "entries[1].over.b.values: {} is not a mapping of names to overrides",
    "{key: x, values: {4: {x: 5}}}": "entries[1].over.b.key: is no key here: values",
    "{values: [5]}": "entries[1].over.b: has no key 'key'",
}


@pytest.mark.parametrize("grid", GRIDS)
def test_a_mistake_in_a_grid_is_told(file: Path, grid: str) -> None:
    text = file.read_text()
    file.write_text(text.replace("{key: training.batch_size, values: [5]}", grid))
    assert [line.partition(": ")[2] for line in refusal(file)] == [GRIDS[grid]]


def test_the_quick_version_has_fewer_worlds_rates_seeds_and_values(file: Path) -> None:
    small = read_study(file).smaller()
    assert [(entry.world, entry.name, entry.rates, entry.seeds) for entry in small.entries] == [
        ("one", "plain", ("0.2",), 1),
        ("one", "kept, c = 1%, b = 5", ("0.5",), 1),
    ]
    assert all(entry.sets[-1] == "stop.updates=2" for entry in small.entries)


def test_only_some_entries_by_their_names_with_and_without_a_grid(file: Path) -> None:
    study = read_study(file)
    assert [entry.name for entry in study.only(["plain"]).entries] == ["plain", "plain"]
    assert len(study.only(["kept"]).entries) == 2
    assert len(study.only(["kept, c = 1%, b = 5"]).entries) == 1


MISTAKES = {
    "question: Is anything learnt?": ("querstion: x", "querstion: is no key here (did you mean 'q"),
    "rates: [0.5]": ("rates: [fast]", "entries[1].rates[0]: 'fast' is not a number above 0"),
    "scenario: base.yaml": ("scenario: 3", "scenario: 3 is not a text"),
    "base: plain": ("base: plan", "base: 'plan' is not in this study (did you mean 'plain'?)"),
    "worlds: [one]": ("worlds: [six]", "quick.worlds[0]: 'six' is not in this study: one, two"),
    "over: {c: [1%]}": ("over: {c: [2%]}", "quick.over.c[0]: '2%' is not in this study"),
    "rates: [0.1, 0.2, 0.4]": ("seeds: 3", "has no learning rates in the world 'one': write rates"),
    "entries: {plain: {}}": ("entries: {}", "{} is not a mapping of names to entries"),
    "two: }": ("one: }", "one: is written twice"),
}


@pytest.mark.parametrize("right", MISTAKES)
def test_a_mistake_is_told_with_its_place(file: Path, right: str) -> None:
    wrong, told = MISTAKES[right]
    assert right in FILE
    text = file.read_text()
    file.write_text(text.replace(right, wrong))
    number = next(n for n, line in enumerate(text.splitlines(), 1) if right in line)
    lines = refusal(file)
    assert any(line.startswith(f"{number}: ") and told in line for line in lines) or any(
        told in line for line in lines if "has no learning rates" in told
    ), lines


def test_all_mistakes_are_told_at_once(file: Path) -> None:
    text = file.read_text().replace("name: made-up", "nam: made-up").replace("[0.5]", "0.5")
    file.write_text(text.replace("claims: {any: {claim: a claim, rule: less}}", "claims: [less]"))
    lines = " ".join(refusal(file))
    assert "has no key 'name'" in lines
    assert "nam: is no key here (did you mean 'name'?)" in lines
    assert "entries[1].rates: 0.5 is not a list" in lines
    assert "claims: ['less'] is not a mapping of names to claims" in lines


# -- entries in containers -------------------------------------------------------------------------


IN_CONTAINERS = "rates: [0.5]\n    containers: 1"


def test_an_entry_is_played_in_containers_too(file: Path) -> None:
    file.write_text(file.read_text().replace("rates: [0.5]", IN_CONTAINERS))
    study = read_study(file)
    kept = [entry for entry in study.entries if entry.over]
    assert [(entry.over["c"], entry.on, entry.seeds) for entry in kept] == [
        ("10%", "virtual", 3),
        ("10%", "docker", 1),
        ("1%", "virtual", 3),
        ("1%", "docker", 1),
    ]
    assert kept[0].sets == kept[1].sets
    assert study.in_containers and not study.smaller().in_containers
    assert len(study.only(["kept, c = 1%, b = 5"]).entries) == 2


def test_an_entry_in_containers_has_one_learning_rate(file: Path) -> None:
    text = file.read_text().replace("rates: [0.5]", IN_CONTAINERS)
    file.write_text(text.replace("[0.5]", "[0.5, 1]"))
    (line,) = refusal(file)
    assert line.endswith("has 2 learning rates in containers: write one, as rates: [0.1]")
    file.write_text(text.replace("containers: 1", "containers: true"))
    assert "containers: True is not a whole number of at least 1" in refusal(file)[0]


# -- entries of a user -----------------------------------------------------------------------------


OWN = "entries: {mine: {set: {training.codec: {kind: './mine.py:Mine'}}, scenario: own.yaml}}\n"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    made = tmp_path / "lab" / "own.yaml"
    made.parent.mkdir()
    made.write_text(OWN)
    return made


def test_entries_of_a_user_join_the_worlds_of_the_first_block(file: Path, own: Path) -> None:
    mine = [entry for entry in read_study(file, own).entries if entry.name == "mine"]
    assert [(entry.world, entry.rates) for entry in mine] == [
        ("one", ("0.1", "0.2", "0.4")),
        ("two", ("0.1", "0.2", "0.4")),
    ]
    codec = f'training.codec={{"kind": "{own.parent}/mine.py:Mine"}}'
    assert mine[0].sets == ("stop.updates=10", codec)
    assert mine[0].scenario == own.parent / "own.yaml"


def test_a_file_of_a_user_names_its_worlds(file: Path, own: Path) -> None:
    own.write_text(f"worlds: [two]\n{OWN}")
    names = [(entry.world, entry.name) for entry in read_study(file, own).entries]
    assert names[-1] == ("two", "mine") and names.count(("one", "mine")) == 0


def test_mistakes_of_a_user_are_told_with_their_places(file: Path, own: Path) -> None:
    own.write_text("worlds: [tow]\nentries: {plain: {rate: [1]}}\n")
    assert refusal(file, own) == [
        "2: entries.plain.rate: is no key here (did you mean 'rates'?): set, rates, scenario, "
        "seeds, short, containers"
    ]
    own.write_text("worlds: [tow, one]\nentries: {plain: {}}\n")
    assert refusal(file, own) == [
        "1: worlds[0]: 'tow' is not in this study (did you mean 'two'?): one, two",
        "2: entries.plain: the world 'one' has an entry of this name: choose another",
    ]


def test_wrong_values_of_a_user_are_told_before_anything_is_played(
    emulate: Emulate, tmp_path: Path
) -> None:
    (tmp_path / "own.yaml").write_text(
        "entries:\n  mine: {set: {training.codec: {kind: './mine.py:Mine'}}}\n"
        "  other: {set: {training.batch: 3}}\n"
    )
    said = emulate("study", "pulls", "--add", "own.yaml")
    assert said.code == 2
    lines = said.err.splitlines()
    assert any("entries.mine" in line and "mine.py" in line for line in lines), lines
    assert any("entries.other" in line and "no such key" in line for line in lines), lines
    assert not Path("runs/studies/pulls/points").exists()


def test_a_codec_of_a_user_is_compared_with_some_of_the_papers_entries(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text((ROOT / "scenarios" / "own" / "half.py").read_text())
    (tmp_path / "own.yaml").write_text(
        "worlds: [MNIST CNN]\nentries: {half: {set: {training.codec: './half.py:Half'}}}\n"
    )
    study = chosen("accuracy", only=["dense"], add=tmp_path / "own.yaml", quick=True)
    found = [(entry.world, entry.name, point) for entry, _, point in study.search()]
    assert [(world, name) for world, name, _ in found] == [
        ("MNIST CNN", "dense"),
        ("MNIST CNN", "half"),
        ("character LSTM", "dense"),
        ("perceptron", "dense"),
    ]
    assert type(found[1][2].scenario.training.codec).__name__ == "Half"
