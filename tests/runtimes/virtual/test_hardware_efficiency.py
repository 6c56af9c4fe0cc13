"""Seconds per group update in virtual time beside the models that predict them."""

import json
from pathlib import Path

import pytest

from analysis import read
from analysis.facts.group_updates import measured
from tests.fakes.typed_commands import Emulate
from tests.fakes.virtual_world import played

TRAINING = "training={dataset: digits, model: digits-mlp, batch_size: 64, codec: dense"
IDEAL = "virtual={learner: none, boot: 1s, tcp: false"
EXPONENTIAL = f"{IDEAL}, step: {{exponential: 1s}}, serve: {{exponential: 100ms}}}}"
"""Ten devices keep the server busy."""
CONSTANT = f"{IDEAL}, step: 1s, serve: 20ms}}"


def met(
    folder: Path, devices: int, groups: int, virtual: str, updates: int, *more: str
) -> tuple[float, float, float]:
    """Play a run; return the seconds per group update: by formula, by queue, and measured."""
    path, *_ = played(
        folder,
        f"{TRAINING}, synchronization: {{kind: groups, groups: {groups}}}}}",
        f"devices=[{{name: w, count: {devices}}}]",
        virtual,
        f"stop={{updates: {updates}}}",
        f"evaluate.every={updates}",
        "faults=[]",
        *more,
    )
    predicted = json.loads((path / "manifest.json").read_text())["hardware_efficiency"]
    assert predicted["groups"] == groups
    return predicted["formula"], predicted["queue"], measured(read(path))


@pytest.mark.slow
@pytest.mark.parametrize("groups", [1, 2, 4, 8, 16])
def test_groups_of_one_device_update_as_the_queue_says(tmp_path: Path, groups: int) -> None:
    """With exponential services the queue is exact: within 3 %."""
    _, queue, found = met(tmp_path, groups, groups, EXPONENTIAL, 8_000)
    assert found == pytest.approx(queue, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [1, 2, 4, 8, 16])
def test_sixteen_devices_update_as_the_queue_says(tmp_path: Path, groups: int) -> None:
    """The queue is exact for 16 groups, and up to 8 % above runs whose groups have many members.

    A group's service is then a sum of exponential ones, which varies less than one of them.
    """
    step = EXPONENTIAL.replace("step: {exponential: 1s}", "step: {exponential: 4s}")
    _, queue, found = met(tmp_path, 16, groups, step, 16_000)
    assert (0.97 if groups == 16 else 0.91) * queue < found < 1.03 * queue


@pytest.mark.parametrize("groups", [1, 4, 8])
def test_with_constant_times_the_formula_is_exact(tmp_path: Path, groups: int) -> None:
    formula, queue, found = met(tmp_path, 8, groups, CONSTANT, 800)
    assert found == pytest.approx(formula, rel=0.01)
    assert found < queue * 1.001


QUOTAS = "devices=[{name: w, count: 4, profile: {cpu: 20%}}]"
SHAPED = "devices=[{name: w, count: 4, link: {up: {rate: 4mbit, setup: 2ms}, down: {rate: 9mbit}}}]"
UNEQUAL = "devices=[{name: fast, count: 2}, {name: slow, count: 2, profile: {cpu: 50%}}]"


@pytest.mark.mostly_slow(quick=2)
@pytest.mark.parametrize(
    ("world", "groups"),
    [(QUOTAS, 1), (QUOTAS, 4), (SHAPED, 1), (SHAPED, 2), (UNEQUAL, 2)],
    ids=["quotas-1", "quotas-4", "links-1", "links-2", "unequal-2"],
)
def test_quotas_and_links_count(tmp_path: Path, world: str, groups: int) -> None:
    formula, queue, found = met(tmp_path, 4, groups, CONSTANT, 400, world)
    # equal groups in step with each other send requests behind updates of all of them
    assert 0.97 * formula < found < 1.06 * queue


def test_the_link_of_the_server_is_a_second_queue(tmp_path: Path) -> None:
    """16 pulls of 72 kB for each group update: the link is busy all the time."""
    link = "server.link={up: {rate: 4mbit}}"
    formula, queue, found = met(tmp_path, 16, 4, CONSTANT, 800, link)
    assert formula == pytest.approx(4 * 17_226 * 32 * 1514 / 1448 / 4e6, rel=0.01)
    assert 0.97 * formula < found < 1.03 * queue


def test_runs_without_groups_have_no_prediction(tmp_path: Path) -> None:
    path, *_ = played(tmp_path, "stop={updates: 5}")
    assert "hardware_efficiency" not in json.loads((path / "manifest.json").read_text())


CUT = """\
name: cut
training:
  {dataset: mnist, model: mnist-cnn, batch_size: 64, codec: dense, synchronization: barrier,
   fully_connected: {place: server}}
stop: {updates: 10}
virtual:
  {step: 1s, serve: 10ms, tcp: false, layers: {forward: [1, 1, 1, 1], backward: [2, 2, 1, 1]}}
devices: [{name: w, count: 4}]
"""


def test_a_cut_moves_a_part_of_the_step_to_the_server(emulate: Emulate, tmp_path: Path) -> None:
    file = tmp_path / "cut.yaml"
    file.write_text(CUT)

    def alone(*overrides: str) -> float:
        sets = [word for override in overrides for word in ("--set", override)]
        found = emulate("predict", file, "--groups", "1", "--json", *sets)
        return float(json.loads(found.out)["groups"][0]["formula"])

    # conv0 and conv1 are 6 of 10 parts; 4 devices, each with a mini-batch of 64
    assert alone() == pytest.approx(0.6 + 4 * 0.4 + 4 * 0.01)
    assert alone("virtual.dense=50ms") == pytest.approx(0.6 + 4 * 0.05 + 4 * 0.01)


@pytest.mark.parametrize("labels", ["sent", "local"])
def test_a_cut_model_updates_as_predicted(tmp_path: Path, labels: str) -> None:
    """Activations cross the links, and the server's part of a pass occupies the processor."""
    cut = f"fully_connected: {{place: server, labels: {labels}}}"
    model = "dataset: mnist, model: mnist-cnn, batch_size: 64, codec: dense"
    formula, queue, found = met(
        *(tmp_path, 4, 2, CONSTANT, 240),
        f"training={{{model}, {cut}, synchronization: {{kind: groups, groups: 2}}}}",
        "virtual.layers={forward: [1, 1, 1, 1], backward: [2, 2, 1, 1]}",
        "virtual.dense=60ms",
        "devices=[{name: w, count: 4, link: {up: {rate: 20mbit, delay: 5ms}}}]",
    )
    assert 0.97 * formula < found < 1.03 * queue
