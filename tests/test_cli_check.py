"""`emulate check` and `schema`: what a scenario comes to, and what is wrong with it."""

from pathlib import Path

from .typed_commands import Emulate, emulate, scenario

__all__ = ["emulate"]


def test_a_good_file_is_shown_resolved(emulate: Emulate, tmp_path: Path) -> None:
    told = emulate("check", scenario(tmp_path))
    assert (told.code, told.err) == (0, "")
    for words in (
        "digits-mlp on digits",
        "algorithm: adacomp",
        "until: 100 updates",
        "near-0 … near-2",
        "25%",
        "1mbit",
        "60.0 s",
        "for good",
        "this host can carry it",
    ):
        assert words in told.out, words


def test_names_are_shown_as_they_are_written(emulate: Emulate, tmp_path: Path) -> None:
    file = scenario(
        tmp_path,
        ("profile: phone", 'profile: {name: "[red]n :pizza:", cpu: 5%}'),
        (
            "up: {rate: 1mbit}}}",
            "up: {rate: 1mbit}}, failures: [{name: '[b]ug', faults: [{kind: crash, every: 1h}]}]}",
        ),
    )
    told = emulate("check", file)
    assert told.code == 0
    assert "[red]n :pizza:" in told.out
    assert "[b]ug" in told.out


def test_a_good_file_for_scripts(emulate: Emulate, tmp_path: Path) -> None:
    told = emulate("check", "--json", scenario(tmp_path), "--set", "devices[0].count=4")
    assert told.code == 0
    assert [device["name"] for device in told.json["devices"]] == [
        *(f"near-{number}" for number in range(4)),
        "far",
    ]
    assert told.json["faults"] == [{"at": 60.0, "until": None, "node": "far", "fault": "crash"}]
    assert told.json["demand"]["ports"] == 7
    assert told.json["shortfalls"] == []
    assert told.json["host"].keys() == {"name", "cores", "memory", "available"}


def test_every_mistake_with_its_place(emulate: Emulate, tmp_path: Path) -> None:
    file = scenario(
        tmp_path,
        ("rate: 1mbit", "rate: 10Mbps"),
        ("nodes: [far]", "nodes: [fra]"),
        ("model: digits-mlp", "model: digits-mpl"),
    )
    told = emulate("check", file)
    assert (told.code, told.out) == (2, "")
    lines = told.err.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(f"{file}:3: training.model: ")
    assert lines[1].startswith(f"{file}:7: devices[1].link.up.rate: '10Mbps': write 10mbit")
    assert lines[2].startswith(f"{file}:9: faults[0].nodes[0]: ")
    assert "did you mean 'far'?" in lines[2]


def test_a_host_that_is_too_small(emulate: Emulate, tmp_path: Path) -> None:
    told = emulate("check", scenario(tmp_path, ("profile: phone", "profile: {memory: 9000GiB}")))
    assert told.code == 1
    assert "error memory: one device may take 9000GiB" in told.out
    assert "this host can carry it" not in told.out


def test_a_long_table_says_that_it_is_cut(emulate: Emulate, tmp_path: Path) -> None:
    links = [f"  - {{name: d{n}, link: {{up: {{rate: {n + 1}mbit}}}}}}" for n in range(60)]
    file = scenario(tmp_path, ("faults:", "\n".join([*links, "faults:"])))
    assert "… 22 more (--json shows all)" in emulate("check", file).out
    assert len(emulate("check", file, "--json").json["devices"]) == 64


def test_the_schema_is_for_editors(emulate: Emulate) -> None:
    assert emulate("schema").json["properties"].keys() >= {"name", "training", "devices"}
