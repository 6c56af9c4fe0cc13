"""Explains why a node ended unasked, from the engine's events and the supervisor's report."""

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from signal import SIGKILL
from typing import Any, NamedTuple

import requests
from docker import DockerClient
from docker.errors import DockerException

from ....units import Bytes
from ....world.roles import EVALUATOR, is_server
from .hosts import Hosts

ENGINE = 3.0
"""Seconds that the engine may take to report a container's end; milliseconds are usual."""

RECENT = 10.0
"""Most seconds between a kill for want of memory and the supervisor's report of the kill."""

DELAY = 0.5
"""Seconds by which the engine may learn of a reached limit after the supervisor saw the kill."""

EVENTS = ["die", "kill", "oom"]


class Exit(NamedTuple):
    """The end of a node or of its container."""

    code: int | None
    """Exit code, negative for a signal; None if the engine did not report one."""
    cause: str
    """`limit` or `host` (memory ran out), `engine` (somebody asked Docker), empty for all else."""
    reason: str
    """One line for people."""


class Exits:
    """The last exit of each node of a run, by name, with the reason in words."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts
        self._ids: dict[str, str] = {}
        self._limits: dict[str, int | None] = {}
        self._words: dict[str, str] = {}
        self.last: dict[str, Exit] = {}

    def created(self, node: str, container: str, memory: int | None = None) -> None:
        """Take the engine's id of the `container` of `node`, and its memory limit in bytes.

        Names are no help: the containers of a resumed run have those of the run before.
        """
        self._ids[node], self._limits[node] = container, memory

    def said(self, node: str, line: str) -> None:
        """Keep `line`, if it is not blank, as the last output of `node`."""
        self._words[node] = line.strip() or self._words.get(node, "")

    def part(self, node: str, code: int, cause: str) -> Exit:
        """Describe the exit of the process of `node` from its supervisor's report."""
        container, limit = self._ids[node], self._limits[node]
        client = self._hosts.of(node).client
        how = of_part(client, container, node, limit, code, cause)
        words = self._words.get(node, "") if code > 0 else ""
        self.last[node] = how._replace(reason=": ".join(filter(None, (how.reason, words))))
        return self.last[node]

    def container(self, node: str) -> Exit:
        """Ask the engine how the container of `node` ended."""
        container, limit = self._ids[node], self._limits[node]
        words = self._words.get(node, "")
        host = self._hosts.of(node)
        if why := host.lost():
            self.last[node] = Exit(None, "", why)
        else:
            self.last[node] = of_container(host.client, container, node, limit, words)
        return self.last[node]


def of_part(
    client: DockerClient, container: str, node: str, limit: int | None, code: int, cause: str
) -> Exit:
    """Describe the exit of a node's process from the supervisor's report of `code` and `cause`.

    `limit`: the container's memory limit in bytes. Under version 1 of control groups the
    supervisor cannot tell whether the limit or the host's memory was reached; the engine can, as
    it is notified of reached limits.
    """
    if cause == "memory":
        cause = "limit" if _reached_limit(client, container) else "host"
    return Exit(code, cause, _memory(node, cause, limit) or _ended(code))


def of_container(
    client: DockerClient, container: str, node: str, limit: int | None, said: str
) -> Exit:
    """Describe the end of the `container` of `node` from the engine's events.

    The container may be removed already. `said`: the last line that the container printed.
    """
    code, cause, signal = _death(client, container)
    if cause == "engine":
        reason = f"somebody ended its container through Docker (signal {signal})"
    else:
        words = f": {said}" if said and code is not None and code > 0 else ""
        reason = _memory(node, cause, limit) or f"its container ended, {_ended(code)}{words}"
    return Exit(code, cause, reason)


def _memory(node: str, cause: str, limit: int | None) -> str:
    """Return the reason of a kill for want of memory; empty for other causes."""
    if cause == "limit" and limit is not None:
        own = f"killed by its own memory limit of {Bytes(limit)}"
        if is_server(node) or node == EVALUATOR:
            return f"{own}: more than `emulate check` reckons for this model and so many devices"
        return f"{own}: if no fault `memory` took the rest, raise `memory` in the profile of {node}"
    return "killed by the kernel: the host ran out of memory" if cause == "host" else ""


def _ended(code: int | None) -> str:
    if code is None:
        return "Docker does not say how"
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def _reached_limit(client: DockerClient, container: str) -> bool:
    """Return whether `container` has reached its memory limit within the last RECENT seconds."""
    now = time.time()
    events = _events(client, container, int(now - RECENT), now + DELAY)
    return any(action == "oom" for action, _ in events)


def _death(client: DockerClient, container: str) -> tuple[int | None, str, str]:
    """Return a container's exit code, the cause, and the signal of a kill through Docker."""
    cause, signal = "", ""
    for action, facts in _events(client, container, 1, time.time() + ENGINE):
        match action:
            case "oom" if not cause:
                cause = "limit"
            case "kill":
                cause, signal = "engine", facts.get("signal", "")
            case "die":
                code = _code(int(facts["exitCode"])) if "exitCode" in facts else None
                # any other code than a kill's: the limit killed an earlier process of the container
                return code, "" if cause == "limit" and code != -SIGKILL else cause, signal
    return None, cause, signal


def _events(
    client: DockerClient, container: str, since: int, until: float
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the events of the `container` with this id as (action, facts), live.

    They are those from `since` up to `until`, both Unix times in seconds. The engine keeps its last
    256 events, also those of removed containers.
    """
    about = {"container": container, "event": EVENTS}
    end: Any = f"{until:.3f}"  # the engine takes fractions of a second, its client's types do not
    with suppress(DockerException, requests.RequestException):
        events: Any = client.api.events(since=since, until=end, filters=about, decode=True)
        with closing(events):
            for event in events:
                yield event["Action"], event["Actor"]["Attributes"]


def _code(code: int) -> int:
    """Return Docker's exit code as Python counts it: negative for a signal."""
    return 128 - code if 128 < code < 192 else code
