"""Docker's errors, said in our words."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import docker
import requests
from docker import DockerClient
from docker.errors import APIError, DockerException

from ...errors import DeploymentError, HostError
from ...machine.host import lacks_containers

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT = "unix:///var/run/docker.sock"
HOW = (
    "start one (`images/engine` does it on Debian, as root), "
    "or point DOCKER_HOST at one that you may use"
)

FULL = (
    ": every range of addresses that the engine gives to networks is taken: `emulate clean` "
    "removes the networks that dead runs have left, `docker network ls` shows all"
)


def connect() -> DockerClient:
    """A client of the engine that DOCKER_HOST names, or the local one. Raises HostError."""
    if why := lacks_containers():
        raise HostError(why)
    try:
        client = docker.from_env(timeout=120, max_pool_size=32)
        client.ping()
    except (DockerException, requests.RequestException) as error:
        where = os.environ.get("DOCKER_HOST") or DEFAULT
        raise HostError(f"no Docker engine answers at {where}: {_reason(error)}: {HOW}") from error
    return client


def _reason(error: BaseException) -> str:
    """What the system said, from under what three libraries made of it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return str(error)


@contextmanager
def refusals(doing: str) -> Iterator[None]:
    """Turn what Docker refuses into a DeploymentError that says what we were doing."""
    try:
        yield
    except APIError as error:
        why = str(error.explanation or error)
        hint = FULL if "address pool" in why else ""
        raise DeploymentError(f"{doing}: Docker refused: {why}{hint}") from error
    except (DockerException, requests.RequestException) as error:
        raise DeploymentError(f"{doing}: {error}") from error


def finished(call: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Return what `call` does, which makes something in the engine.

    Where a signal ends the run meanwhile, the call comes to its end first: a request that is left
    alone is answered all the same, and what it makes then nobody would remove.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(call, *args, **options).result()
