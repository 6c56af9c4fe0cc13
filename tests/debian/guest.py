"""Types the commands of a user in the machine of Debian 13, and keeps all that they said."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from docker import DockerClient

STEPS = Path("steps.jsonl")
EMULATE = (sys.executable, "-m", "emulator")
CHECKOUT = Path("/emulate")
LONG = 1500.0
"""Seconds that a step may take."""

SLOW = ("--set", "time={dilation: 8}")
"""Options of a run on a machine this slow: every time-out is as much longer."""

PODMAN = "unix:///run/podman/podman.sock"
ROOTLESS = "unix:///run/user/1000/docker.sock"


def say(name: str, *words: str, **environment: str) -> str:
    """Run a command as the step `name`, note all that it said, and return its output."""
    began = time.monotonic()
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONG,
            env={**os.environ, **environment},
        )
        code, output, errors = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        code, output, errors = -1, str(late.stdout or b""), str(late.stderr or b"")
    note(name, words=words, code=code, took=time.monotonic() - began, output=output, errors=errors)
    return output


def note(name: str, **facts: Any) -> None:
    """Write a step's facts to its file and to the console."""
    with STEPS.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"step": name, **facts}) + "\n")
    uptime = Path("/proc/uptime").read_text().split()[0]
    text = "\n".join(f"  {key}: {value}" for key, value in facts.items())
    print(f"@@ {uptime} {name}\n{text}", flush=True)


def emulate(name: str, *words: str, **environment: str) -> str:
    """Type a command of `emulate` as the step `name`."""
    return say(name, *EMULATE, *words, **environment)


# -- what the machine is ---------------------------------------------------------------------------


def machine() -> None:
    """Note the kernel, the version of the control groups, and the engine."""
    say("kernel", "uname", "-r")
    say("control groups", "stat", "-fc", "%T", "/sys/fs/cgroup")
    say("security modules", "cat", "/sys/kernel/security/lsm")
    say("engine", "docker", "info", "--format", "{{json .}}")
    say("version", "docker", "version", "--format", "{{json .}}")


def prepare() -> None:
    """Build the image of the code, and check the machine."""
    emulate("images", "images")
    emulate("doctor", "doctor", "--json")


# -- runs ------------------------------------------------------------------------------------------


def smallest() -> None:
    """Play the smallest scenario."""
    file = str(CHECKOUT / "scenarios/smallest.yaml")
    few = ("--set", "stop.updates=60", "--set", "evaluate.every=30", *SLOW)
    emulate("smallest", "run", file, *few, "--no-report", "--json")


def everything() -> None:
    """Play links, a crash, a pause, a partition, a memory fault and quotas, and look on."""
    from tests.containers.kinds.observer import Observer

    with _engine() as client:
        observer = Observer(client, Path.cwd(), {"crashed": True, "frozen": True})
        observer.start()
        file = str(CHECKOUT / "tests/debian/everything.yaml")
        emulate("everything", "run", file, "--no-report", "--json")
        observer.end()
    looks = {node: [look._asdict() for look in looks] for node, looks in observer.samples.items()}
    Path("looks.json").write_text(json.dumps(looks))
    links = {node: [look._asdict() for look in looks] for node, looks in observer.links.items()}
    Path("links.json").write_text(json.dumps(links))


# -- links of other containers ---------------------------------------------------------------------

LISTEN = """
import socket
server = socket.create_server(("", 80))
while True:
    server.accept()[0].close()
"""
HANDSHAKES = """
import json, socket, sys, time
times = []
for _ in range(12):
    began = time.monotonic()
    socket.create_connection((sys.argv[1], 80), 30).close()
    times.append(time.monotonic() - began)
    time.sleep(0.2)
print(json.dumps(times))
"""
SIDE = "{rate: 2mbit, delay: 100ms}"
IMAGE = "emulate/base:bookworm"


def link() -> None:
    """Put a container behind a link, measure handshakes, and undo the link."""
    say("network", "docker", "network", "create", "street")
    for name, program in (("web", LISTEN), ("visitor", "import time; time.sleep(1e6)")):
        run = ("docker", "run", "-d", "--network", "street", "--name", name)
        say(name, *run, IMAGE, "python3", "-c", program)
    shake = ("docker", "exec", "visitor", "python3", "-c", HANDSHAKES, "web")
    say("handshakes before", *shake)
    for means in ("netem", "packets"):
        sides = ("--up", SIDE, "--down", SIDE, "--shaping", means)
        emulate(f"link by {means}", "link", "web", *sides, "--json")
        say(f"handshakes by {means}", *shake)
        emulate(f"link by {means} removed", "link", "web", "--remove", "--json")
    say("handshakes after", *shake)
    _link_with_version_6()
    emulate("link left", "link", "web", "--up", SIDE, "--json")


def _link_with_version_6() -> None:
    say("network 6", "docker", "network", "create", "--ipv6", "--subnet", "fd00:7::/64", "six")
    words = ("docker", "run", "-d", "--network", "six", "--name", "web6", IMAGE)
    say("web6", *words, "python3", "-c", LISTEN)
    emulate("link with IPv6", "link", "web6", "--up", SIDE, "--json")


# -- what dead runs leave --------------------------------------------------------------------------


def clean() -> None:
    """Kill the conductor of a run whose packets pass the box, and remove what the run left."""
    file = str(CHECKOUT / "scenarios/smallest.yaml")
    changes = ("--set", "stop={time: 1h}", "--set", "name=killed", "--shaping", "packets", *SLOW)
    with open("killed.log", "wb") as log:
        words = [*EMULATE, "run", file, *changes, "--no-report"]
        conductor = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        _until(lambda: _updates("killed") >= 20)
        say("running", "docker", "ps", "--format", "{{.Names}}")
        for device in ("device-0", "server"):
            found = _container(device)
            say(f"IPv6 of {device}", "docker", "exec", found, "cat", "/proc/net/if_inet6")
            say(f"devices of {device}", "docker", "exec", found, "ip", "-s", "link", "show")
        os.kill(conductor.pid, signal.SIGKILL)
        conductor.wait()
    emulate("list", "list", "--json")
    emulate("doctor before", "doctor", "--json")
    emulate("clean", "clean", "--json")
    say("containers left", "docker", "ps", "--all", "--format", "{{.Names}}")
    say("networks left", "docker", "network", "ls", "--format", "{{.Name}}")
    say("volumes left", "docker", "volume", "ls", "--format", "{{.Name}}")
    emulate("doctor after", "doctor", "--json")


def _updates(scenario: str) -> int:
    """Return the updates that the server of the latest run of `scenario` has applied so far."""
    log = Path("runs", scenario, "latest", "server", "run.jsonl")
    return log.read_text().count('"what":"update"') if log.exists() else 0


def _container(device: str) -> str:
    words = ("docker", "ps", "--quiet", "--filter", f"name=-{device}$")
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()


def _until(true: Callable[[], bool], patience: float = 300.0) -> None:
    end = time.monotonic() + patience
    while not true() and time.monotonic() < end:
        time.sleep(0.5)


@contextmanager
def _engine() -> Iterator[DockerClient]:
    client = DockerClient(base_url="unix:///var/run/docker.sock", timeout=300)
    try:
        yield client
    finally:
        client.close()


# -- other engines ---------------------------------------------------------------------------------


def podman() -> None:
    """Ask podman's socket for a run."""
    service = subprocess.Popen(["podman", "system", "service", "--time=0", PODMAN])
    _until(Path(PODMAN.removeprefix("unix://")).exists, 60.0)
    _refused("podman", PODMAN)
    service.terminate()
    service.wait()


def rootless() -> None:
    """Ask a rootless engine of Docker for a run."""
    home = Path(ROOTLESS.removeprefix("unix://")).parent
    home.mkdir(parents=True, exist_ok=True)
    shutil.chown(home, "emma", "emma")
    with open("rootless.log", "wb") as log:
        daemon = subprocess.Popen(
            [
                *("setpriv", "--reuid=emma", "--regid=emma", "--init-groups", "env"),
                *("HOME=/home/emma", f"XDG_RUNTIME_DIR={home}", "PATH=/usr/sbin:/usr/bin"),
                *("sh", "/usr/share/docker.io/contrib/dockerd-rootless.sh"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        _until(Path(ROOTLESS.removeprefix("unix://")).exists, 120.0)
        say("rootless engine", "docker", "info", DOCKER_HOST=ROOTLESS)
        _refused("rootless", ROOTLESS)
        daemon.terminate()
        daemon.wait()
    print(Path("rootless.log").read_text()[-3000:])


def _refused(name: str, address: str) -> None:
    emulate(f"{name} doctor", "doctor", "--json", DOCKER_HOST=address)
    file = str(CHECKOUT / "scenarios/smallest.yaml")
    emulate(f"{name} run", "run", file, "--no-report", DOCKER_HOST=address)
    few = ("--set", "stop.updates=20", "--on", "virtual", "--no-report", "--json")
    emulate(f"{name} virtual", "run", file, *few, DOCKER_HOST=address)


PARTS = (machine, prepare, smallest, everything, link, clean, podman, rootless)


def main() -> None:
    chosen = sys.argv[1:]
    for part in PARTS:
        if not chosen or part.__name__ in chosen:
            try:
                part()
            except Exception as error:
                note(f"{part.__name__} broke", error=repr(error))


if __name__ == "__main__":
    main()
