"""Fleets of devices that keep a host busy."""

from emulator.scenario import Scenario, loads


def fleet(*lines: str, synchronization: str = "asynchronous") -> Scenario:
    text = (
        "name: fleet\n"
        "training: {dataset: mnist, model: mnist-cnn, codec: dense, batch_size: 77, "
        f"synchronization: {synchronization}}}\n"
        "stop: {updates: 100}\n"
    )
    return loads(text + "\n".join(lines))


FORTY = "devices: [{name: home, count: 40, profile: {cpu: 20%}}]"
STEP = "virtual: {step: 40ms, serve: 2ms}"
