"""TensorFlow's ParameterServerStrategy: asynchronous steps of workers, all variables on one server.

    python parameter_server_strategy.py FILE WARM UPDATES WORKERS

Prints `begin` after `WARM` updates and `end` after `UPDATES` more. Runs in the peers' environment.
"""

import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from typing import Any

import tensorflow as tf
from peer_model import PeerModel, gradients, on_one_thread

TASK = "serve"
"""First argument of the processes that the coordinator starts: workers and the server."""


def main(file: str, warm: int, updates: int, workers: int) -> None:
    on_one_thread()
    ports = [_free_port() for _ in range(workers + 2)]
    hosts = [f"localhost:{port}" for port in ports]
    cluster = {"worker": hosts[2:], "ps": hosts[1:2], "chief": hosts[:1]}
    with ExitStack() as started:
        for job, members in (("ps", 1), ("worker", workers)):
            for index in range(members):
                started.callback(_start(cluster, job, index).kill)
        os.environ["TF_CONFIG"] = _config(cluster, "chief", 0)
        _coordinate(PeerModel(file), warm, updates)


def _coordinate(model: PeerModel, warm: int, updates: int) -> None:
    strategy = tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.TFConfigClusterResolver()
    )
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        variables = [tf.Variable(value) for value in model.initial]

    def batches() -> Any:
        return tf.data.Dataset.from_tensor_slices((model.images, model.labels)).repeat()

    def replica(x: Any, y: Any) -> None:
        for variable, gradient in zip(variables, gradients(variables, x, y), strict=True):
            variable.assign_sub(model.rate * gradient, read_value=False)

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
        main(sys.argv[1], *map(int, sys.argv[2:]))
