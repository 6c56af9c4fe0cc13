"""Programs of others behind our links: judged from outside, during and after faults.

The server's program, whose link is unshaped, times the devices: with a byte that comes back, and
with an upload. The devices' programs only answer.
"""

import json
import os
import signal
import statistics
import subprocess
import time

import pytest

from tests.containers.conftest import EMULATE, until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(180)]

UPLOAD = 30_000
SERVER = """
import json, socket, sys, threading, time
UPLOAD = int(sys.argv[1])
def take(peer, size):
    while size:
        got = peer.recv(size)
        if not got: raise OSError("closed")
        size -= len(got)
def serve(peer):
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    peer.settimeout(20)
    name = peer.makefile("rb").readline().decode().strip()
    print(json.dumps({"hello_" + name: 1}), flush=True)
    number = 0
    try:
        while True:
            began = time.monotonic()
            peer.sendall(b"p"); take(peer, 1)
            print(json.dumps({"rtt_" + name: 1e3 * (time.monotonic() - began)}), flush=True)
            time.sleep(0.1)
            if number % 4 == 3:
                peer.sendall(b"u"); take(peer, 4096)  # the burst that a link lets pass at once
                began = time.monotonic()
                take(peer, UPLOAD - 4096)
                rate = 8 * (UPLOAD - 4096) / (time.monotonic() - began)
                print(json.dumps({"rate_" + name: rate}), flush=True)
            number += 1
    except OSError as error:
        print("lost", name, error, flush=True)
listening = socket.create_server(("", 7000))
print("serving on 7000", flush=True)
while True:
    threading.Thread(target=serve, args=listening.accept()[:1], daemon=True).start()
"""
DEVICE = """
import os, pathlib, socket, sys, time
server, name, upload = sys.argv[1], sys.argv[2], int(sys.argv[3])
lives = pathlib.Path("/tmp/lives")
lives.write_text(lives.read_text() + "x" if lives.exists() else "x")
out = pathlib.Path("/results"); out.mkdir(exist_ok=True)
(out / "lives.txt").write_text(lives.read_text())
print("life", len(lives.read_text()), flush=True)
for undo in ("/sbin/tc qdisc del dev eth0 root", "ip link set eth0 down", "nft flush ruleset"):
    if os.system(undo + " 2>/dev/null") == 0: print("undone:", undo, flush=True)
try:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print("undone: raw", flush=True)
except PermissionError: pass
while True:
    try:
        with socket.create_connection((server, 7000), timeout=20) as peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer.sendall(name.encode() + b"\\n")
            while asked := peer.recv(1):
                peer.sendall(b"p" if asked == b"p" else bytes(upload))
    except OSError as error:
        print("no server:", error, flush=True)
    time.sleep(0.2)
"""
SCENARIO = f"""
# Does the link of a program hold over a pause, a crash and a restart?
name: foreign
seed: 5
workload:
  image: {{image}}
  server: {{command: 'python3 -u /app/server.py {UPLOAD}', ready: {{log: 'serving on [0-9]+'}}}}
  device: {{command: 'python3 -u /app/device.py {{server}} {{name}} {UPLOAD}'}}
  driver: {{command: [python3, -c, 'import time; time.sleep(16); print("over")']}}
  data: ./app
  output: /results
stop: {{driver: true, time: 60s}}
devices:
  - name: home
    count: 2
    link: {{up: {{rate: 2mbit, delay: 20ms}}, down: {{rate: 8mbit, delay: 20ms}}}}
faults:
  - {{kind: pause, nodes: [home-0], at: 2s, lasts: 2s}}
  - {{kind: crash, nodes: [home-0], at: 6s, lasts: 3s}}
  - {{kind: partition, nodes: [home-1], at: 4s, lasts: 2s}}
"""
RATE = 2e6 * 1448 / 1514


@pytest.fixture
def app(client, tmp_path):
    """Write the programs and scenarios of them; the image is that of our own nodes, as a foreign
    one."""
    from emulator.runtimes.docker.images import libraries

    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "server.py").write_text(SERVER)
    (tmp_path / "app" / "device.py").write_text(DEVICE)

    def write(text=SCENARIO, **changes):
        text = text.replace("{image}", libraries.BASE).replace("/app/", "/data/")
        for old, new in changes.items():
            text = text.replace(old, new)
        (tmp_path / "foreign.yaml").write_text(text)
        return "foreign.yaml"

    return write


def folder_of(tmp_path):
    return (tmp_path / "runs" / "foreign" / "latest").resolve()


def records(folder):
    return [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]


def printed(log, name):
    """Return times and values of the metric `name` of the server."""
    values = [(r["at"], r["values"]) for r in log if r["what"] == "metric"]
    return [(at, own[name]) for at, own in values if name in own]


@pytest.mark.timed
def test_a_link_holds_over_a_pause_a_crash_and_a_restart(app, emulate, tmp_path):
    emulate("run", app(), "--json")
    folder = folder_of(tmp_path)
    log, summary = records(folder), json.loads((folder / "summary.json").read_text())
    assert (summary["outcome"], summary["stop"]) == ("success", "driver")
    assert (summary["faults_realised"], summary["exits"]) == (3, [])
    begun = {(r["fault"], r["begins"]): r["at"] for r in log if "begins" in r}
    for home in ("home-0", "home-1"):
        trips = printed(log, f"rtt_{home}")
        # no reply has ever passed beside the link: not before, under or after a fault
        assert min(trip for _, trip in trips) >= 39.5
        assert statistics.median(trip for _, trip in trips) <= 46
        rates = [rate for _, rate in printed(log, f"rate_{home}")]
        assert len(rates) >= 5
        assert statistics.median(rates) == pytest.approx(RATE, rel=0.1)
        lives = (folder / "output" / home / "lives.txt").read_text()
        assert lives == ("xx" if home == "home-0" else "x")
        assert "undone" not in (folder / "devices" / f"{home}.log").read_text()
    after = [trip for at, trip in printed(log, "rtt_home-0") if at > begun["crash", False] + 1]
    assert len(after) > 10 and statistics.median(after) <= 46
    for fault, home in (("pause", "home-0"), ("crash", "home-0"), ("partition", "home-1")):
        begin, end = begun[fault, True], begun[fault, False]
        heard = [at for at, _ in printed(log, f"rtt_{home}") if begin + 0.1 < at < end]
        assert not heard, fault
    (again,) = printed(log, "hello_home-0")  # the first one came before the run's zero
    assert again[0] > begun["crash", False]
    assert len({r["node"] for r in log if r["what"] == "traffic"}) == 3
    assert {r["node"] for r in log if r["what"] == "link"} >= {"home-0", "home-1"}


FAILING = {
    "no image": (
        {"image: emulate/base:bookworm": "image: emulate/none:1"},
        "workload.image: the engine has no image 'emulate/none:1', and cannot pull it",
    ),
    "not ready": (
        {"{log: 'serving on [0-9]+'}": "{port: 7001, within: 1s}"},
        "workload.server.ready: the server gave no sign (port 7001) within 1s",
    ),
    "server ends": (
        {"server.py": "none.py"},
        "workload.server.command: the program of server ended before the run began, by exit code 2",
    ),
    "device ends": (
        {"device.py {server}": "device.py"},
        "ended before the run began, by exit code 1",
    ),
    "no command": ({"python3 -u /data/device.py": "pythonx"}, "workload.device.command: starting"),
    "driver fails": (
        {'print("over")': "sys.exit(4)"},
        "workload.driver.command: the program of driver ended while the run went on, by "
        "exit code 1",
    ),
}


@pytest.mark.parametrize("case", FAILING)
def test_a_mistake_is_one_message_with_its_place_and_last_lines(app, emulate, ours, case):
    changes, words = FAILING[case]
    done = emulate("run", app(**changes, **{"sleep(16)": "sleep(1)"}), check=False)
    assert done.returncode == 1
    assert words in done.stderr, done.stderr
    assert "Traceback" not in done.stdout + done.stderr.replace("Traceback (most", "", 1)
    if "ended" in words:
        assert "ends with:" in done.stderr
    assert not ours()


FAULTS = """faults:
  - {kind: leave, nodes: [home-0], at: 1s, lasts: 3s}
  - {kind: slow, nodes: [home-1], at: 1s, lasts: 2s, factor: 10%}
  - {kind: memory, nodes: [home-1], at: 4s, lasts: 2s, takes: 80%}
  - {kind: server-crash, at: 7s, lasts: 1s}
  - {kind: energy, nodes: [home-0], capacity: 20J, idle: 1W, core: 1J}
"""


def test_the_engine_plays_other_faults(app, emulate, tmp_path):
    text = SCENARIO[: SCENARIO.index("faults:")] + FAULTS
    emulate("run", app(text, **{"sleep(16)": "sleep(12)"}), "--json")
    folder = folder_of(tmp_path)
    log = records(folder)
    done = [(r["what"], r["node"]) for r in log if "begins" in r]
    for what in ("leave", "join"):
        assert (what, "home-0") in done
    for what in ("throttle", "unthrottle", "press", "release"):
        assert (what, "home-1") in done
    assert [what for what, node in done if node == "server"] == ["kill", "boot"]
    charges = [r["charge"] for r in log if r["what"] == "battery"]
    assert charges[0] > 0.99 and 0.2 < charges[-1] < 0.6  # 12 s of 1 W, and some computing
    assert (folder / "output" / "home-0" / "lives.txt").read_text() == "xx"


def test_ctrl_c_keeps_what_was_recorded_and_removes_the_containers(app, tmp_path, ours, client):
    run = [EMULATE, "run", app()]
    playing = subprocess.Popen(run, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    until(lambda: "start:" in (playing.stdout.readline()), 60)
    playing.send_signal(signal.SIGINT)
    said, _ = playing.communicate(timeout=60)
    assert playing.returncode == 130, said
    assert json.loads((folder_of(tmp_path) / "summary.json").read_text())["outcome"] == "canceled"
    assert not ours()


def test_clean_removes_what_a_killed_conductor_left(app, emulate, tmp_path, ours):
    run = [EMULATE, "run", app()]
    playing = subprocess.Popen(run, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    until(lambda: "start:" in (playing.stdout.readline()), 60)
    time.sleep(2)
    os.kill(playing.pid, signal.SIGKILL)
    playing.communicate()
    assert ours()  # programs have no lifeline
    folder = folder_of(tmp_path)
    emulate("clean")
    assert not ours()
    refused = emulate("resume", folder.name, check=False)
    assert "cannot be resumed: it plays a workload" in refused.stderr
    assert "metric server" in emulate("logs", folder.name).stdout
