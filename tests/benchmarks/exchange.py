"""How many exchanges a second ZeroMQ alone carries: an update up, a model down, no thought."""

import multiprocessing
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import zmq

from emulator.codecs import TopK
from emulator.core import wire
from emulator.core.wire.messages import ModelReply, Update
from emulator.learning import models
from emulator.units import Fraction

from .gradient import MODEL

PEERS = 8
_WARM = 0.5

_fork = multiprocessing.get_context("fork")


def sizes() -> tuple[int, int]:
    """Bytes of an update and of a model."""
    up, down = _frames()
    return sum(map(len, up)), sum(map(len, down))


def rate(*, encrypt: bool, seconds: float) -> float:
    """Exchanges a second of one ROUTER with eight DEALERs over the loopback, CURVE or NULL."""
    up, down = _frames()
    addresses = _fork.SimpleQueue()  # told later: once ZeroMQ has threads it is too late to fork
    keys = zmq.curve_keypair() if encrypt else None
    public = keys[0] if keys else None
    peers = [
        _fork.Process(target=_peer, args=(addresses, up, public), daemon=True) for _ in range(PEERS)
    ]
    for peer in peers:
        peer.start()
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        router.linger = 0
        if keys:
            router.curve_server, router.curve_secretkey = 1, keys[1]
        router.bind("tcp://127.0.0.1:*")
        for _ in peers:
            addresses.put(router.getsockopt_string(zmq.LAST_ENDPOINT))
        _answer(router, down, PEERS)  # all are there
        _answer(router, down, until=time.monotonic() + _WARM)
        began = time.monotonic()
        number = _answer(router, down, until=began + seconds)
        took = time.monotonic() - began
        for peer in peers:
            peer.terminate()
            peer.join()
    return number / took


def _answer(router: Any, down: Sequence[Any], most: float = np.inf, until: float = np.inf) -> int:
    number = 0
    while number < most and time.monotonic() < until:
        if not router.poll(10_000):
            raise RuntimeError("no peer speaks")
        sender = router.recv_multipart(copy=False)[0]
        router.send_multipart([sender, *down], copy=False)
        number += 1
    return number


def _peer(addresses: Any, up: Sequence[bytes], public: bytes | None) -> None:
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        if public:
            dealer.curve_serverkey = public
            dealer.curve_publickey, dealer.curve_secretkey = zmq.curve_keypair()
        dealer.connect(addresses.get())
        while True:
            dealer.send_multipart(up)
            dealer.recv_multipart(copy=False)


def _frames() -> tuple[list[Any], list[Any]]:
    layout = models.find(MODEL).layout
    theta = np.random.default_rng(0).standard_normal(layout.size, np.float32)
    frames = TopK(keep=Fraction(0.01)).encode(theta, layout)
    return wire.pack(Update("peer-0", 1, 0.5, 0.003, frames)), wire.pack(ModelReply(1, 1, theta))
