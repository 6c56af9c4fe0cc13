"""`emulate check` of a cut model: where the cut lies, and the bytes of an update."""

from pathlib import Path

from tests.fakes.typed_commands import Emulate

FILE = """\
name: merged
training:
  {dataset: mnist, model: mnist-cnn, algorithm: bsp, fully_connected: {place: server}}
stop: {updates: 40}
devices:
  - {name: peer, count: 4}
"""
TABLE = """\
cut behind conv1, layer 2 of 4: devices hold 18,816 parameters, the server 402,826
bytes of an update               up                        down
activations, and their gradient  10 · 3,136 · 4 = 125,440  10 · 3,136 · 4 = 125,440
labels                           10 · 4 = 40
push, and pull                   18,816 · 4 = 75,264       18,816 · 4 = 75,264
together                         200,744                   200,704
without the cut                  1,686,568                 1,686,568
share                            11.9%                     11.9%
"""


def test_the_calculation_is_shown(emulate: Emulate, tmp_path: Path) -> None:
    file = tmp_path / "merged.yaml"
    file.write_text(FILE)
    shown = "".join(f"{line.rstrip()}\n" for line in emulate("check", file).out.splitlines())
    assert TABLE in shown
    assert "fully_connected: {place: server, labels: sent, values: f32}" in shown
    assert "and a core for the server's layers" in shown


def test_scripts_get_it_as_numbers(emulate: Emulate, tmp_path: Path) -> None:
    file = tmp_path / "merged.yaml"
    file.write_text(FILE)
    local = emulate("check", "--json", file, "--set", "training.fully_connected.labels=local")
    cut = local.json["cut"]
    assert (cut["layer"], cut["name"], cut["crossing"], cut["rows"]) == (2, "conv1", 3136, 10)
    assert cut["sizes"] == {"activations": 125_440, "labels": 0, "logits": 400}
    assert (cut["up"], cut["down"]) == (125_440 + 400 + 75_264, 125_440 + 400 + 75_264)


def test_smaller_mini_batches_have_their_own_bytes(emulate: Emulate, tmp_path: Path) -> None:
    file = tmp_path / "merged.yaml"
    groups = "codec: dense, synchronization: {kind: groups, groups: 3}, batch_size: 7"
    file.write_text(FILE.replace("algorithm: bsp", groups))
    shown = [" ".join(line.split()) for line in emulate("check", file).out.splitlines()]
    # mini-batches of 7 in groups of one device, and of 4 and 3 in the group of two
    place = shown.index("together 163,100 163,072")
    assert shown[place + 1 : place + 3] == [
        "with 4 examples 125,456 125,440",
        "with 3 examples 112,908 112,896",
    ]
    smaller = emulate("check", "--json", file).json["cut"]["smaller"]
    assert smaller[1] == {"rows": 3, "up": 112_908, "down": 112_896}


def test_times_of_groups_are_those_of_both_parts(emulate: Emulate, tmp_path: Path) -> None:
    file = tmp_path / "merged.yaml"
    file.write_text(
        FILE.replace("algorithm: bsp", "codec: dense, synchronization: {kind: groups, groups: 2}")
    )
    shown = " ".join(emulate("check", file, "--set", "virtual.step=70ms").out.split())
    assert "group devices mini-batch a step of both parts, on a whole core" in shown
    assert "0 peer-0, peer-1 5 35ms" in shown
