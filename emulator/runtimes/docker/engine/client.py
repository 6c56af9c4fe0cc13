"""Connects to the Docker engine, and translates Docker's errors into the emulator's."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from typing import ParamSpec, TypeVar

import requests
from docker import DockerClient
from docker.errors import APIError, DockerException

from ....errors import DeploymentError, HostError
from ....machine.host import lacks_containers
from .endpoint import Endpoint, endpoint
from .engine_traits import refusal
from .ssh_forward import SCHEME, forwarded

MOST_CALLS = 8
"""Most calls of a run to the engine at once."""

P = ParamSpec("P")
T = TypeVar("T")

HOW = (
    "start one (as root on Debian: `apt-get install docker.io`; in a checkout, `images/engine`), "
    "or name one that you may use in DOCKER_HOST, or by `docker context use`"
)

FULL = (
    ": every range of addresses that the engine gives to networks is taken: `emulate clean` "
    "removes the networks that dead runs have left, `docker network ls` shows all"
)
SMALL = (
    ": the range of addresses that the engine gave to this network is too small for so many "
    "containers: set a larger `size` in the engine's `default-address-pools` "
    "(/etc/docker/daemon.json), or play fewer devices"
)
_ADDRESSES = {
    "non-overlapping": FULL,
    "predefined address pools": FULL,
    "no available IPv4 addresses": SMALL,
    "no available addresses": SMALL,
}
"""Remedies by parts of the engine's words; old and new engines have different words."""


def connect() -> DockerClient:
    """Return a client of the engine that `endpoint` chooses.

    Raises HostError if this system has no containers, if no engine answers, or if no run can be
    played on the engine.
    """
    if why := lacks_containers():
        raise HostError(why)
    chosen = endpoint()
    return _opened(chosen, chosen.address, f": {HOW}")


@contextmanager
def connected(chosen: Endpoint) -> Iterator[DockerClient]:
    """Yield a client of the engine `chosen`, which may be another machine's.

    Raises HostError if the engine does not answer, or if no run can be played on it.
    """
    with ExitStack() as stack:
        address = chosen.address
        if address.startswith(SCHEME):
            address = stack.enter_context(forwarded(address))
        yield stack.enter_context(closing(_opened(chosen, address)))


def _opened(chosen: Endpoint, address: str, remedy: str = "") -> DockerClient:
    """Return a client of the engine `chosen` at `address`, unless no run can be played on it."""
    try:
        client = DockerClient(
            base_url=address, tls=chosen.tls or False, timeout=120, max_pool_size=32
        )
        why = refusal(client.info(), client.version())
    except (DockerException, requests.RequestException) as error:
        raise HostError(
            f"no Docker engine answers at {chosen}: {_reason(error)}{remedy}"
        ) from error
    if why:
        raise HostError(f"the Docker engine at {chosen}: {why}")
    return client


def _reason(error: BaseException) -> str:
    """Return the system's error message, which three libraries have wrapped, if `error` has one."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return str(error)


@contextmanager
def refusals(doing: str) -> Iterator[None]:
    """Turn an error of Docker into a DeploymentError that begins with `doing`."""
    try:
        yield
    except APIError as error:
        why = str(error.explanation or error)
        hint = next((hint for words, hint in _ADDRESSES.items() if words in why), "")
        raise DeploymentError(f"{doing}: Docker refused: {why}{hint}") from error
    except (DockerException, requests.RequestException) as error:
        raise DeploymentError(f"{doing}: {error}") from error


def finished(call: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Return the result of `call`, which creates something in the engine, in spite of signals.

    If a signal ends the run meanwhile, the call still comes to its end first. An abandoned request
    would be served by the engine all the same, and nothing would remove the new thing.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(call, *args, **options).result()
