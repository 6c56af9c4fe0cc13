"""TensorFlow's ParameterServerStrategy: asynchronous steps of workers, all variables on one server.

    python parameter_server_strategy.py STYLE FILE WARM UPDATES WORKERS

`STYLE` is `keras`, a Keras model and optimizer as in TensorFlow's guide, or `bare`, one function on
the variables. Prints `begin` after `WARM` updates and `end` after `UPDATES` more. Runs in the
peers' environment.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import tensorflow as tf
from peer_model import PeerModel, gradients, on_one_thread

TASK = "serve"
"""First argument of the processes that the coordinator starts: workers and the server."""


def main(style: str, file: str, warm: int, updates: int, workers: int) -> None:
    on_one_thread()
    ports = [_free_port() for _ in range(workers + 2)]
    hosts = [f"localhost:{port}" for port in ports]
    cluster = {"worker": hosts[2:], "ps": hosts[1:2], "chief": hosts[:1]}
    with ExitStack() as started:
        for job, members in (("ps", 1), ("worker", workers)):
            for index in range(members):
                started.callback(_start(cluster, job, index).kill)
        os.environ["TF_CONFIG"] = _config(cluster, "chief", 0)
        _coordinate(style, PeerModel(file), warm, updates)


def _coordinate(style: str, model: PeerModel, warm: int, updates: int) -> None:
    strategy = tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.TFConfigClusterResolver()
    )
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        replica = _keras_step(model) if style == "keras" else _bare_step(model)

    def batches() -> Any:
        return tf.data.Dataset.from_tensor_slices((model.images, model.labels)).repeat()

    @tf.function
    def step(iterator: Any) -> None:
        strategy.run(replica, args=next(iterator))

    iterator = iter(coordinator.create_per_worker_dataset(batches))
    for name, number in (("begin", warm), ("end", updates)):
        for _ in range(number):
            coordinator.schedule(step, args=(iterator,))
        coordinator.join()
        print(name, flush=True)
    sys.stdin.readline()  # the processes are measured before they end


def _bare_step(model: PeerModel) -> Callable[[Any, Any], None]:
    variables = [tf.Variable(value) for value in model.initial]

    def step(x: Any, y: Any) -> None:
        for variable, gradient in zip(variables, gradients(variables, x, y), strict=True):
            variable.assign_sub(model.rate * gradient, read_value=False)

    return step


def _keras_step(model: PeerModel) -> Callable[[Any, Any], None]:
    network = model.keras()
    network.optimizer.build(network.trainable_variables)

    def step(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            loss = network.loss(y, network(x, training=True))
        found = tape.gradient(loss, network.trainable_variables)
        network.optimizer.apply_gradients(zip(found, network.trainable_variables, strict=True))

    return step


def _serve() -> None:
    on_one_thread()
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    server = tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=resolver.task_type,
        task_index=resolver.task_id,
        protocol="grpc",
        config=tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1),
    )
    server.join()


def _start(cluster: dict[str, list[str]], job: str, index: int) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "TF_CONFIG": _config(cluster, job, index)}
    return subprocess.Popen([sys.executable, __file__, TASK], env=environment)


def _config(cluster: dict[str, list[str]], job: str, index: int) -> str:
    return json.dumps({"cluster": cluster, "task": {"type": job, "index": index}})


def _free_port() -> int:
    with socket.create_server(("localhost", 0)) as listener:
        return int(listener.getsockname()[1])


if __name__ == "__main__":
    if sys.argv[1] == TASK:
        _serve()
    else:
        style, file, *numbers = sys.argv[1:]
        main(style, file, *map(int, numbers))
