"""All that was typed in a machine of Debian 13: Docker 26 or newer, control groups of version 2.

One boot answers all questions. The machine has about a tenth of the host's speed, so no test asks
how fast something was; `pytest -s` prints the table of the steps.
"""

import json
import shutil
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.debian import guest, machine

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(bool(machine.lacking()), reason=machine.lacking()),
    pytest.mark.timeout(machine.PATIENCE + 300),
]


class Session:
    """What the machine left: the steps by name, and the folders of its runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        lines = (folder / guest.STEPS).read_text().splitlines()
        self.steps: dict[str, dict[str, Any]] = {s["step"]: s for s in map(json.loads, lines)}

    def output(self, step: str) -> str:
        """Return what the step printed; it must have succeeded."""
        found = self.steps[step]
        assert found["code"] == 0, found
        return str(found["output"])

    def json(self, step: str) -> Any:
        return json.loads(self.output(step))

    def doctor(self, step: str) -> dict[str, dict[str, Any]]:
        return {line["what"]: line for line in json.loads(self.steps[step]["output"])}

    def records(self, scenario: str, what: str, **facts: Any) -> list[dict[str, Any]]:
        lines = (self._run(scenario) / "run.jsonl").read_text().splitlines()
        found = (r for r in map(json.loads, lines) if r["what"] == what)
        return [r for r in found if all(r[key] == value for key, value in facts.items())]

    def manifest(self, scenario: str) -> Any:
        return json.loads((self._run(scenario) / "manifest.json").read_text())

    def looks(self, node: str) -> list[dict[str, Any]]:
        """Return the looks at a container of `everything`, from outside, since its zero."""
        (start,) = self.records("everything", "start")
        looks: Any = json.loads((self.folder / "looks.json").read_text())[node]
        return [{**look, "at": look["at"] - start["zero"]} for look in looks]

    def _run(self, scenario: str) -> Path:
        played = Path(self.json(scenario)["run"])  # the step has the name of its scenario
        return self.folder / "runs" / scenario / played.name


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    work = tmp_path_factory.mktemp("debian")
    found = machine.boot("tests.debian.guest", work)
    kept = Path("build/debian-13")
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(found, kept, symlinks=True)
    session = Session(found)
    for name, step in session.steps.items():
        print(f"{name:24} {step.get('code', 'broke'):>5} {step.get('took', 0.0):8.1f} s")
    return session


def test_no_part_broke(session: Session) -> None:
    assert [name for name in session.steps if name.endswith(" broke")] == []


def test_the_machine_is_of_another_kind_than_this_host(session: Session) -> None:
    assert session.output("control groups").strip() == "cgroup2fs"
    assert "apparmor" in session.output("security modules")
    engine = session.json("engine")
    assert (engine["CgroupVersion"], engine["CgroupDriver"]) == ("2", "systemd")
    assert int(engine["ServerVersion"].split(".")[0]) >= 26


def test_the_doctor_finds_all_that_a_run_needs(session: Session) -> None:
    lines = session.doctor("doctor")
    assert session.steps["doctor"]["code"] == 0
    assert [
        each["what"] for each in lines.values() if not each["ok"] and not each["optional"]
    ] == []
    assert lines["shaping"]["found"] == "rate by tbf, delay by the kernel, loss by netem"
    assert lines["forks"]["found"] == "a fork server can start the workers"
    assert "the engine keeps CPU quotas, memory limits" in lines["limits"]["found"]


def test_the_smallest_scenario_is_played(session: Session) -> None:
    summary = session.json("smallest")
    assert (summary["outcome"], summary["updates"]) == ("success", 60)
    assert session.manifest("smallest")["shaping"]["delay"] == "netem"


# -- everything ------------------------------------------------------------------------------------


def test_faults_strike_forked_workers(session: Session) -> None:
    summary = session.json("everything")
    assert summary["outcome"] == "success"
    assert session.manifest("everything")["workers"] == "forked"
    boots = [r["incarnation"] for r in session.records("everything", "hello", node="crashed")]
    assert boots == [0, 1]
    for begin, end in (("pause", "resume"), ("sever", "mend")):
        (began,), (ended,) = (session.records("everything", what) for what in (begin, end))
        times = [r["at"] for r in session.records("everything", "update", node="frozen")]
        still = began["at"] + 0.5, ended["at"]  # an update may be under way
        assert not [at for at in times if still[0] < at < still[1]], begin


def test_the_kernel_counts_the_ends_for_want_of_memory(session: Session) -> None:
    (end,) = session.records("everything", "exit")
    assert (end["node"], end["code"], end["cause"]) == ("pressed", -9, "limit")
    (press,) = session.records("everything", "press")
    held = [look["memory"] for look in session.looks("pressed") if look["at"] > press["at"] + 1.0]
    assert max(held) > 0.75 * (256 << 20)


def test_quotas_hold_and_the_waits_at_them_are_read(session: Session) -> None:
    quotas = [look["quota"] for look in session.looks("slowed") if look["quota"] is not None]
    changes = [one for one, before in pairwise([*quotas, None]) if one != before]
    own = 0.25  # a core at a dilation of 4
    assert changes == [own, own * 0.4, own]
    loads = session.records("everything", "host")
    assert max(max(load["throttled"]) for load in loads) > 0.1
    assert all(load["pressure"] is not None and load["waits"] is not None for load in loads)


def test_the_counters_of_interfaces_grow(session: Session) -> None:
    for node in ("crashed", "frozen", "slowed", "pressed", "server"):
        sent = [r["tx"] for r in session.records("everything", "traffic", node=node)]
        assert sent == sorted(sent) and sent[-1] > 10_000, node


def test_links_are_the_kernel_s(session: Session) -> None:
    links = json.loads((session.folder / "links.json").read_text())
    for node in ("crashed", "frozen"):
        assert any("netem" in look["text"] and "tbf" in look["text"] for look in links[node])


# -- links of other containers, and what is left ---------------------------------------------------


@pytest.mark.parametrize("means", ["netem", "packets"])
def test_a_container_has_the_delay_of_its_link(session: Session, means: str) -> None:
    before, within, after = (
        median(session.json(f"handshakes {when}")) for when in ("before", f"by {means}", "after")
    )
    assert 0.2 < within < 0.2 + 0.1 and max(before, after) < 0.1


def test_a_container_with_ipv6_is_refused(session: Session) -> None:
    step = session.steps["link with IPv6"]
    assert step["code"] == 1 and "IPv6" in step["errors"]


def test_a_run_behind_the_box_has_no_ipv6(session: Session) -> None:
    assert "packet_box" in session.output("running")
    for node in ("device-0", "server"):
        addresses = session.output(f"IPv6 of {node}").splitlines()
        assert {line.split()[-1] for line in addresses} <= {"lo"}


def test_nothing_is_left_of_a_killed_run(session: Session) -> None:
    (run,) = (run for run in session.json("list") if run["scenario"] == "killed")
    assert run["outcome"] == "unfinished"
    assert "left" in session.doctor("doctor before")["leftovers"]["found"]
    assert session.steps["clean"]["code"] == 0
    assert set(session.output("containers left").split()) == {"web", "web6", "visitor"}
    assert set(session.output("networks left").split()) == {
        *("bridge", "host", "none", "street", "six")
    }
    assert session.output("volumes left").split() == []
    assert session.doctor("doctor after")["leftovers"]["found"] == "dead runs have left nothing"


@pytest.mark.parametrize(
    ("engine", "why"), [("podman", "this is podman's socket"), ("rootless", "this engine is root")]
)
def test_other_engines_are_refused_with_the_reason(session: Session, engine: str, why: str) -> None:
    assert why in session.doctor(f"{engine} doctor")["engine"]["found"]
    assert session.steps[f"{engine} run"]["code"] == 1
    assert why in session.steps[f"{engine} run"]["errors"]
    assert session.json(f"{engine} virtual")["outcome"] == "success"
