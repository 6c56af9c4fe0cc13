"""The address of the Docker engine, chosen as the program `docker` chooses it.

DOCKER_HOST comes first, then the context that DOCKER_CONTEXT names, then `currentContext` of
`config.json`, then the local engine's socket. Contexts are files below `$DOCKER_CONFIG` or
`~/.docker`. The package `docker` is no help here: it ignores DOCKER_CONTEXT, and looks for contexts
in the working folder if there is no `config.json`.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from docker.errors import DockerException
from docker.tls import TLSConfig

from ....errors import HostError

LOCAL = "unix:///var/run/docker.sock"
DEFAULT = "default"
"""Name of the context without files: DOCKER_HOST, or else the local engine."""


@dataclass(frozen=True)
class Endpoint:
    """The address of an engine, the setting that names the engine, and keys for TLS."""

    address: str
    by: str
    """The setting in words: `DOCKER_HOST`, a context, or `default`."""
    tls: TLSConfig | None = None

    def __str__(self) -> str:
        return f"{self.address} (by {self.by})"

    def plain(self) -> dict[str, str]:
        """Return the entries of the manifest."""
        return {"address": self.address, "by": self.by}


def endpoint(environment: Mapping[str, str] = os.environ) -> Endpoint:
    """Return the engine that `environment` and Docker's configuration choose.

    Raises HostError if a context is named that does not exist, or that cannot be used.
    """
    folder = _folder(environment)
    if environment.get("DOCKER_HOST"):
        return _reachable(_host(environment))
    if name := environment.get("DOCKER_CONTEXT"):
        setting = "DOCKER_CONTEXT"
    else:
        name, setting = _current(folder / "config.json"), f"currentContext in {folder}/config.json"
    if name in ("", DEFAULT):
        return _reachable(_host(environment))
    return _reachable(_context(folder, name, setting))


def named(text: str, by: str, environment: Mapping[str, str] = os.environ) -> Endpoint:
    """Return the engine that `text` names: a context, or an address, which may be one by SSH.

    `by` is the setting that has the `text`. An address by TCP has the keys that `environment` gives
    for DOCKER_HOST. Raises HostError if there is no such context, or if it cannot be used.
    """
    if "://" in text:
        found = _host({**environment, "DOCKER_HOST": text})
    elif text == DEFAULT:
        found = Endpoint(LOCAL, DEFAULT)
    else:
        found = _context(_folder(environment), text, by)
    return replace(found, by=by)


def _folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of Docker's configuration."""
    named = environment.get("DOCKER_CONFIG")
    return Path(named) if named else Path.home() / ".docker"


def _host(environment: Mapping[str, str]) -> Endpoint:
    """Return the engine at DOCKER_HOST, or else the local engine; with TLS if it is asked for."""
    address = environment.get("DOCKER_HOST")
    by = "DOCKER_HOST" if address else DEFAULT
    verify = bool(environment.get("DOCKER_TLS_VERIFY"))
    secured = verify or bool(environment.get("DOCKER_TLS"))
    if not address or address.startswith(("unix:", "ssh:")) or not secured:
        return Endpoint(address or LOCAL, by)
    keys = environment.get("DOCKER_CERT_PATH")
    folder = Path(keys) if keys else _folder(environment)
    return Endpoint(address, by, _tls(folder, by, verify=verify))


def _current(config: Path) -> str:
    """Return the current context that the file `config` names; empty without any."""
    try:
        content = json.loads(config.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise HostError(f"cannot read {config}, which may name a Docker context: {error}") from None
    name = content.get("currentContext", "") if isinstance(content, dict) else ""
    return name if isinstance(name, str) else ""


def _context(folder: Path, name: str, setting: str) -> Endpoint:
    """Return the engine of the context `name`, which `setting` names, from the files in `folder`.

    A context's folders are called after the SHA-256 of its name.
    """
    digest = sha256(name.encode()).hexdigest()
    file = folder / "contexts" / "meta" / digest / "meta.json"
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        engine: dict[str, Any] = content["Endpoints"]["docker"]
        address = str(engine["Host"])
    except FileNotFoundError:
        raise HostError(
            f"there is no Docker context {name!r}, which {setting} names: `docker context ls` "
            "lists the contexts, `docker context use default` chooses the local engine"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HostError(f"cannot read the Docker context {name!r} ({file}): {error!r}") from None
    by = f"the context {name}, {setting}"
    keys, skip = folder / "contexts" / "tls" / digest / "docker", bool(engine.get("SkipTLSVerify"))
    secured = not address.startswith(("unix:", "ssh:")) and (keys.is_dir() or skip)
    tls = _tls(keys, by, verify=not skip) if secured else None
    return Endpoint(address, by, tls)


def _tls(folder: Path, by: str, *, verify: bool) -> TLSConfig:
    """Return the keys in `folder`: `cert.pem` and `key.pem` of the client, `ca.pem` of the engine.

    A missing `ca.pem` leaves the engine to be judged by this system's certificate authorities.
    """
    cert, key, ca = (folder / f"{name}.pem" for name in ("cert", "key", "ca"))
    pair = (str(cert), str(key)) if cert.is_file() or key.is_file() else None
    try:
        return TLSConfig(client_cert=pair, ca_cert=str(ca) if ca.is_file() else None, verify=verify)
    except DockerException as error:
        raise HostError(f"the Docker engine's keys in {folder} (by {by}): {error}") from None


def _reachable(chosen: Endpoint) -> Endpoint:
    """Return `chosen`. Raises HostError for a transport that runs cannot use."""
    if chosen.address.startswith("ssh:"):
        raise HostError(
            f"the Docker engine {chosen} is reached by SSH: containers of a run read files of the "
            "machine that starts the run, so use an engine of this machine, or log in on that "
            "machine and run `emulate` there"
        )
    return chosen
