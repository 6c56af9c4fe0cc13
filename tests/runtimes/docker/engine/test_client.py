"""What the engine refuses, said in our words; and that no request to it is left alone."""

import os
import signal
import threading
import time

import pytest
from docker.errors import APIError
from requests import Response

from emulator.errors import DeploymentError
from emulator.runs.cancel import Canceled, canceling
from emulator.runtimes.docker.engine.client import finished, refusals


def refuse(explanation: str) -> None:
    with refusals("making the run's network"):
        response = Response()
        response.status_code = 403
        raise APIError("403 Client Error", response, explanation)


@pytest.mark.parametrize(
    "words",
    [  # of engine 20.10, and of 28
        "could not find an available, non-overlapping IPv4 address pool among the defaults to "
        "assign to the network",
        "all predefined address pools have been fully subnetted",
    ],
)
def test_no_addresses_are_left(words: str) -> None:
    with pytest.raises(DeploymentError) as raised:
        refuse(words)
    assert str(raised.value) == (
        f"making the run's network: Docker refused: {words}: every range of addresses that the "
        "engine gives to networks is taken: `emulate clean` removes the networks that dead runs "
        "have left, `docker network ls` shows all"
    )


@pytest.mark.parametrize(
    "words",
    [  # of engines up to 20.10, and of those since
        "no available IPv4 addresses on this network's address pools: emulate-1-wan (0a1b2c)",
        "failed to allocate gateway: no available addresses in this pool",
    ],
)
def test_a_network_is_too_small(words: str) -> None:
    with pytest.raises(DeploymentError) as raised:
        refuse(words)
    said = str(raised.value)
    assert "too small for so many containers: set a larger `size`" in said
    assert "emulate clean" not in said


def test_other_refusals_are_as_the_engine_says() -> None:
    with pytest.raises(DeploymentError, match=r"network: Docker refused: no such luck$"):
        refuse("no such luck")


def test_a_signal_waits_for_what_is_being_made() -> None:
    """Otherwise a half-made container would be known to nobody and would stay."""
    made: list[str] = []

    def make() -> None:
        time.sleep(0.3)
        made.append("network")

    interrupt = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM))
    with pytest.raises(Canceled), canceling():
        interrupt.start()
        finished(make)
    assert made == ["network"]
