"""Flower: rounds of federated averaging, in which each client takes one step on a mini-batch.

    python flower_rounds.py STYLE FILE WARM UPDATES CLIENTS

`STYLE` is `keras`, clients with a Keras model as in Flower's quickstart, or `bare`, one function on
the arrays of a message. Prints `begin` after `WARM` updates and `end` after `UPDATES` more. The
clients live as long as the run, on a stream of their own: Flower's newer engine starts a process
for each message. Runs in the peers' environment.
"""

import logging
import socket
import subprocess
import sys
import time
import warnings
from contextlib import ExitStack
from itertools import cycle
from typing import Any

import flwr.server as flower
from flwr.common import ndarrays_to_parameters
from flwr.compat.client.app import start_client
from flwr.compat.client.numpy_client import NumPyClient
from flwr.server.strategy import FedAvg
from peer_model import PeerModel, gradients, on_one_thread, tf

CLIENT = "client"
"""First argument of the processes that the server starts."""


def main(style: str, file: str, warm: int, updates: int, clients: int) -> None:
    with socket.create_server(("localhost", 0)) as listener:
        address = f"localhost:{listener.getsockname()[1]}"
    with ExitStack() as started:
        for _ in range(clients):
            client = subprocess.Popen([sys.executable, __file__, CLIENT, style, file, address])
            started.callback(client.kill)
        rounds = (warm // clients, (warm + updates) // clients)
        strategy = MeasuredAverage(*rounds, clients, PeerModel(file).initial)
        config = flower.ServerConfig(num_rounds=rounds[1] + 1)
        flower.start_server(server_address=address, config=config, strategy=strategy)


class MeasuredAverage(FedAvg):  # type: ignore[misc]
    """Federated averaging of all clients that says when its measured rounds begin and end."""

    def __init__(self, first: int, last: int, clients: int, initial: list[Any]) -> None:
        super().__init__(
            fraction_fit=1.0,
            fraction_evaluate=0.0,
            min_fit_clients=clients,
            min_available_clients=clients,
            initial_parameters=ndarrays_to_parameters(initial),
        )
        self._first, self._last = first, last

    def configure_fit(self, server_round: int, parameters: Any, client_manager: Any) -> Any:
        if server_round == self._first + 1:
            print("begin", flush=True)
        if server_round == self._last + 1:
            print("end", flush=True)
            sys.stdin.readline()  # the processes are measured before they end
        return super().configure_fit(server_round, parameters, client_manager)


class KerasClient(NumPyClient):  # type: ignore[misc]
    """A client that trains a Keras model on its next mini-batch."""

    def __init__(self, model: PeerModel) -> None:
        self._batches = cycle(zip(model.images, model.labels, strict=True))
        self._model = model.keras()

    def fit(self, parameters: list[Any], config: Any) -> tuple[list[Any], int, dict[str, Any]]:
        x, y = next(self._batches)
        self._model.set_weights(parameters)
        self._model.train_on_batch(x, y)
        return self._model.get_weights(), len(y), {}


class StepClient(NumPyClient):  # type: ignore[misc]
    """A client that takes one step of SGD on its next mini-batch."""

    def __init__(self, model: PeerModel) -> None:
        self._batches = cycle(zip(model.images, model.labels, strict=True))

        @tf.function
        def step(variables: list[Any], x: Any, y: Any) -> list[Any]:
            found = gradients(variables, x, y)
            pairs = zip(variables, found, strict=True)
            return [variable - model.rate * gradient for variable, gradient in pairs]

        self._step = step

    def fit(self, parameters: list[Any], config: Any) -> tuple[list[Any], int, dict[str, Any]]:
        x, y = next(self._batches)
        variables = [tf.constant(array) for array in parameters]
        return [array.numpy() for array in self._step(variables, x, y)], len(y), {}


def _serve(style: str, file: str, address: str) -> None:
    on_one_thread()
    while not _listens(address):
        time.sleep(0.1)
    made = KerasClient if style == "keras" else StepClient
    start_client(server_address=address, client=made(PeerModel(file)).to_client())


def _listens(address: str) -> bool:
    host, _, port = address.partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1.0).close()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.getLogger("flwr").setLevel(logging.ERROR)
    if sys.argv[1] == CLIENT:
        _serve(*sys.argv[2:])
    else:
        style, file, *numbers = sys.argv[1:]
        main(style, file, *map(int, numbers))
