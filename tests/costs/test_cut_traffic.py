"""The bytes of an update of a cut model, by products that a reader can repeat by hand."""

from emulator.core import wire
from emulator.core.cut.activation_values import crossing_bytes
from emulator.core.plan import Cut
from emulator.core.wire.messages import ActivationGradient, Activations
from emulator.costs.cut_traffic import cut_traffic
from emulator.learning.models import find
from tests.fakes.small_scenario import small

CNN = ("dataset: digits\n  model: digits-mlp", "dataset: mnist\n  model: mnist-cnn")
LENET = ("dataset: digits\n  model: digits-mlp", "dataset: mnist\n  model: mnist-lenet")


def with_cut(section: str, algorithm: str = "asgd") -> tuple[str, str]:
    return "algorithm: asgd", f"algorithm: {algorithm}\n  fully_connected: {section}"


def test_an_update_of_mnist_cnn() -> None:
    traffic = cut_traffic(small(CNN, with_cut("{place: server}")))
    assert traffic is not None
    assert (traffic.name, traffic.layer, traffic.layers) == ("conv1", 2, 4)
    assert traffic.server_parameters == 7 * 7 * 64 * 128 + 128 + 128 * 10 + 10
    # activations, labels and the gradients of 3·3·32 + 32 and 3·3·32·64 + 64 parameters
    assert traffic.up == 10 * (7 * 7 * 64) * 4 + 10 * 4 + (320 + 18_496) * 4
    assert traffic.down == 10 * (7 * 7 * 64) * 4 + (320 + 18_496) * 4
    assert traffic.whole.push == traffic.whole.pull == 4 * 421_642


def test_an_update_of_mnist_lenet() -> None:
    traffic = cut_traffic(small(LENET, with_cut("{place: server, values: f16}")))
    assert traffic is not None
    parameters = (5 * 5 * 20 + 20) + (5 * 5 * 20 * 50 + 50)
    assert traffic.up == 10 * (4 * 4 * 50) * 2 + 10 * 4 + 4 * parameters
    assert traffic.down == 10 * (4 * 4 * 50) * 2 + 4 * parameters


def test_labels_that_stay_cost_the_outputs_twice() -> None:
    sizes = crossing_bytes(find("mnist-cnn"), Cut(2, labels="local"), 10)
    assert (sizes.labels, sizes.logits, sizes.messages) == (0, 10 * 10 * 4, 2)
    assert sizes.up == sizes.down == 125_440 + 400


def test_texts_have_a_label_and_outputs_for_every_character() -> None:
    model = find("char-lstm")
    assert crossing_bytes(model, Cut(2), 4).labels == 4 * 50 * 4
    assert crossing_bytes(model, Cut(2, labels="local"), 4).logits == 4 * 50 * 32 * 4
    assert crossing_bytes(model, Cut(2), 4).activations == 4 * 50 * 128 * 4


def test_messages_are_as_large_and_some_ten_bytes_more() -> None:
    sizes = crossing_bytes(find("mnist-cnn"), Cut(2), 10)
    up = Activations("device-0", 9, 9, 10, bytes(sizes.activations), bytes(sizes.labels))
    down = ActivationGradient(9, 0.5, bytes(sizes.activations))
    assert 0 < wire.size(up) - sizes.up < 100
    assert 0 < wire.size(down) - sizes.down < 100


def test_a_compressed_push_is_an_expectation() -> None:
    traffic = cut_traffic(small(CNN, with_cut("{place: server}", "adacomp")))
    assert traffic is not None
    assert 0 < traffic.device.push < 0.02 * traffic.device.pull
    assert traffic.plain()["up"] == traffic.sizes.up + traffic.device.push


def test_a_group_deals_its_batch_over_its_devices() -> None:
    groups = "synchronization: {kind: groups, groups: 1}"
    scenario = small(
        CNN, ("algorithm: asgd", f"codec: dense\n  {groups}\n  fully_connected: {{place: server}}")
    )
    traffic = cut_traffic(scenario)
    assert traffic is not None
    assert traffic.rows == 4  # of 10 over three devices, the first has one more


def test_without_a_cut_nothing_crosses() -> None:
    assert cut_traffic(small(CNN)) is None
