"""The engine is the one that the program `docker` would speak to, and no other."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from emulator.errors import HostError
from emulator.machine.cache import cache
from emulator.runtimes.docker.engine.endpoint import LOCAL, Endpoint, endpoint, named
from tests.fakes.typed_commands import Emulate

ROOTLESS = "unix:///run/user/1000/docker.sock"
REMOTE = "tcp://198.51.100.7:2376"


def made(folder: Path, name: str, **engine: Any) -> str:
    """Write the files of a context into Docker's configuration `folder`; return its digest."""
    digest = sha256(name.encode()).hexdigest()
    meta = folder / "contexts/meta" / digest / "meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text(json.dumps({"Name": name, "Endpoints": {"docker": engine}}))
    return digest


def keys(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in ("ca", "cert", "key"):
        (folder / f"{name}.pem").touch()
    return folder


@pytest.fixture
def docker(tmp_path: Path) -> Path:
    """Docker's configuration with contexts, none of which is current."""
    made(tmp_path, "rootless", Host=ROOTLESS, SkipTLSVerify=False)
    keys(tmp_path / "contexts/tls" / made(tmp_path, "far", Host=REMOTE) / "docker")
    made(tmp_path, "lax", Host=REMOTE, SkipTLSVerify=True)
    made(tmp_path, "ssh", Host="ssh://me@198.51.100.7")
    made(tmp_path, "küche", Host="unix:///küche.sock")
    return tmp_path


def choose(folder: Path, current: str | None = None, **environment: str) -> Endpoint:
    if current is not None:
        (folder / "config.json").write_text(json.dumps({"currentContext": current}))
    return endpoint({"DOCKER_CONFIG": str(folder), **environment})


@pytest.mark.parametrize(
    ("current", "environment", "address", "by"),
    [
        (None, {}, LOCAL, "default"),
        ("", {}, LOCAL, "default"),
        ("default", {}, LOCAL, "default"),
        ("rootless", {}, ROOTLESS, "the context rootless, currentContext in "),
        ("rootless", {"DOCKER_CONTEXT": "default"}, LOCAL, "default"),
        ("rootless", {"DOCKER_CONTEXT": "küche"}, "unix:///küche.sock", "the context küche, DOCK"),
        (None, {"DOCKER_CONTEXT": "rootless"}, ROOTLESS, "the context rootless, DOCKER_CONTEXT"),
        ("rootless", {"DOCKER_CONTEXT": ""}, ROOTLESS, "the context rootless, currentContext in "),
        ("gone", {"DOCKER_HOST": REMOTE}, REMOTE, "DOCKER_HOST"),
        ("rootless", {"DOCKER_HOST": "unix:///mine", "DOCKER_CONTEXT": "x"}, "unix:///mine", "DOC"),
        ("rootless", {"DOCKER_HOST": ""}, ROOTLESS, "the context rootless"),
    ],
)
def test_the_engine_of_each_setting(
    docker: Path, current: str | None, environment: dict[str, str], address: str, by: str
) -> None:
    chosen = choose(docker, current, **environment)
    assert chosen.address == address and chosen.tls is None
    assert chosen.by.startswith(by)
    assert str(chosen) == f"{address} (by {chosen.by})"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("rootless", ROOTLESS),
        ("default", LOCAL),
        ("unix:///mine", "unix:///mine"),
        (REMOTE, REMOTE),
        ("ssh", "ssh://me@198.51.100.7"),
        ("ssh://somewhere", "ssh://somewhere"),
    ],
)
def test_an_engine_that_is_named(docker: Path, text: str, address: str) -> None:
    """Whatever the environment says; by SSH, too, as no run is played there."""
    environment = {"DOCKER_CONFIG": str(docker), "DOCKER_HOST": "unix:///other"}
    assert named(text, "--to", environment) == Endpoint(address, "--to")
    secured = {**environment, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(keys(docker / "k"))}
    assert bool(named(text, "--to", secured).tls) == (text == REMOTE)
    far = named("far", "--to", environment)
    assert far.address == REMOTE and far.tls
    with pytest.raises(HostError, match="no Docker context 'gone', which --to names"):
        named("gone", "--to", environment)


def test_without_any_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert endpoint({}).address == LOCAL
    made(tmp_path / ".docker", "home", Host=ROOTLESS)
    assert endpoint({"DOCKER_CONTEXT": "home"}).address == ROOTLESS


@pytest.mark.parametrize(
    ("current", "environment", "words"),
    [
        ("gone", {}, r"no Docker context 'gone', which currentContext in .*config.json names: `do"),
        (None, {"DOCKER_CONTEXT": "gone"}, "no Docker context 'gone', which DOCKER_CONTEXT names"),
        (None, {"DOCKER_CONTEXT": "ssh"}, "reached by SSH: containers of a run read files of"),
        (None, {"DOCKER_HOST": "ssh://somewhere"}, "ssh://somewhere .by DOCKER_HOST. is reached"),
    ],
)
def test_an_engine_that_cannot_be_used_is_refused(
    docker: Path, current: str | None, environment: dict[str, str], words: str
) -> None:
    with pytest.raises(HostError, match=words):
        choose(docker, current, **environment)


@pytest.mark.parametrize("content", ["{", "[]", '{"Endpoints": {}}', '{"Endpoints": 3}'])
def test_a_damaged_context(docker: Path, content: str) -> None:
    meta = docker / "contexts/meta" / made(docker, "odd") / "meta.json"
    meta.write_text(content)
    with pytest.raises(HostError, match="cannot read the Docker context 'odd'"):
        choose(docker, "odd")


def test_a_damaged_configuration(docker: Path) -> None:
    (docker / "config.json").write_text("{")
    with pytest.raises(HostError, match=r"cannot read .*config.json, which may name a Docker"):
        choose(docker)
    (docker / "config.json").write_text("[]")
    assert choose(docker).address == LOCAL


def test_keys_of_a_context(docker: Path) -> None:
    folder = docker / "contexts/tls" / sha256(b"far").hexdigest() / "docker"
    tls: Any = choose(docker, "far").tls
    assert tls.verify is True and tls.ca_cert == str(folder / "ca.pem")
    assert tls.cert == (str(folder / "cert.pem"), str(folder / "key.pem"))
    (folder / "key.pem").unlink()
    with pytest.raises(HostError, match=r"keys in .*by the context far"):
        choose(docker, "far")
    lax: Any = choose(docker, "lax").tls
    assert lax.verify is False and lax.cert is None


@pytest.mark.parametrize(
    ("setting", "verified"), [({"DOCKER_TLS_VERIFY": "1"}, True), ({"DOCKER_TLS": "1"}, False)]
)
def test_keys_of_the_environment(
    docker: Path, tmp_path: Path, setting: dict[str, str], verified: bool
) -> None:
    folder = keys(tmp_path / "own")
    given = {"DOCKER_HOST": REMOTE, "DOCKER_CERT_PATH": str(folder), **setting}
    tls: Any = choose(docker, **given).tls
    assert tls.verify is verified and tls.ca_cert == str(folder / "ca.pem")
    # as `docker` has it: neither a path alone nor a socket makes a connection secure
    assert choose(docker, DOCKER_HOST=REMOTE, DOCKER_CERT_PATH=str(folder)).tls is None
    assert choose(docker, **{**given, "DOCKER_HOST": ROOTLESS}).tls is None


@pytest.mark.parametrize("command", ["doctor", "clean", "images"])
def test_every_command_refuses_an_unknown_context(
    emulate: Emulate, docker: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setenv("DOCKER_CONFIG", str(docker))
    monkeypatch.setenv("DOCKER_CONTEXT", "nonexistent")
    result = emulate(command)
    assert result.code == 1
    assert "there is no Docker context 'nonexistent'" in result.out + result.err


def test_an_engine_that_is_down_is_named_with_its_setting(
    emulate: Emulate, docker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setenv("DOCKER_CONFIG", str(docker))
    monkeypatch.setenv("DOCKER_CONTEXT", "küche")
    words = "no Docker engine answers at unix:///küche.sock (by the context küche, DOCKER_CONTEXT)"
    assert words in emulate("clean").err


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({}, "/home/ada/.cache/emulate/x"),
        ({"XDG_CACHE_HOME": "/fast"}, "/fast/emulate/x"),
        ({"XDG_CACHE_HOME": ""}, "/home/ada/.cache/emulate/x"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/ada/.cache/emulate/x"),
        ({"XDG_CACHE_HOME": "/fast", "EMULATE_CACHE": "/own"}, "/own/x"),
        ({"XDG_CACHE_HOME": "/fast", "EMULATE_CACHE": ""}, "/fast/emulate/x"),
    ],
)
def test_the_cache_is_where_this_user_has_caches(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], place: str
) -> None:
    for name in ("XDG_CACHE_HOME", "EMULATE_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cache("x") == Path(place)
