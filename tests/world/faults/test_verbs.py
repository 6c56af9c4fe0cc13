"""The table of verbs: every runtime and every fault keeps to it, and no list repeats it."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from analysis.facts.faults import SILENCING, UNDOES
from analysis.reading.runs import BOOTS
from emulator.log.records import KINDS, Record, kind
from emulator.log.records.fault_records import FaultRecord
from emulator.node.part.part_powers import PartPowers
from emulator.runtimes.docker.engine.engine_faults import ContainerPowers
from emulator.runtimes.virtual.device.device_faults import DevicePowers
from emulator.world import verbs
from emulator.world.faults import Fault
from emulator.world.powers import EnginePowers, FaultCounts, NodePowers, perform
from emulator.world.verbs import VERBS, Action, row
from tests.layers import ROOT, tree
from tests.world.faults.verbs_of_kinds import VERBS_OF_KINDS

NAMES = {name for verb in VERBS for name in (verb.name, verb.undone_by)}
WORDS = NAMES | {what for verb in VERBS for what in (verb.record, verb.undone_record)}


def test_powers_have_a_method_for_each_verb_and_for_nothing_else() -> None:
    for by, powers in (("node", NodePowers), ("engine", EnginePowers)):
        methods = {name for name in vars(powers) if not name.startswith("_")}
        others = {"change"} if by == "node" else set()
        assert methods == {name for name in NAMES if row(name).by == by} | others
    assert set(verbs.ORDER) == NAMES
    assert len(NAMES) == 2 * len(VERBS)


def test_no_record_of_a_verb_takes_the_place_of_another_record() -> None:
    """`KINDS` holds a Struct for each kind: of two Structs of one kind, only the latter is left."""
    others = {kind(record) for record in get_args(Record) if record is not FaultRecord}
    whats = [what for verb in VERBS for what in (verb.record, verb.undone_record)]
    assert len(KINDS) == len(others) + len(whats)
    assert KINDS.keys() == others | set(whats)


CONTAINERS = {"node": PartPowers, "engine": ContainerPowers, "worker": PartPowers}
"""Who does the verbs to a container, by the row's `by`."""


@pytest.mark.parametrize("on", ["virtual", "docker"])
@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_runtime_has_every_verb(on: str, name: str) -> None:
    runtime = DevicePowers if on == "virtual" else CONTAINERS[row(name).by]
    by_worker = row(name).by == "worker"
    method = getattr(runtime, "change" if by_worker else name, None)
    assert method is not None, f"{runtime.__name__} has no method {name!r}"
    tuned = row(name).tunable and verbs.begins(name)
    expected = ["self", "verb", "setting"] if by_worker else ["self", "setting"][: 1 + tuned]
    assert list(inspect.signature(method).parameters) == expected


class Changed:
    """Powers over a worker that plays faults by itself."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, Any]] = []

    def change(self, verb: str, setting: Any) -> None:
        self.changes.append((verb, setting))


def test_a_verb_of_the_worker_changes_its_settings() -> None:
    powers = Changed()
    perform(powers, "lag", {"delay": 1})  # type: ignore[arg-type]
    perform(powers, "catch_up")  # type: ignore[arg-type]
    assert powers.changes == [("lag", {"delay": 1}), ("lag", None)]


@pytest.mark.parametrize("fault", [fault for fault, *_ in VERBS_OF_KINDS])
def test_each_fault_ends_with_the_verb_that_undoes_its_beginning(fault: Fault) -> None:
    begin, end, kind = fault.begin("a"), fault.end("a"), fault.kind
    assert (begin.node, end.node, begin.fault, end.fault) == ("a", "a", kind, kind)
    assert begin.begins and not end.begins
    assert row(begin.verb).undone_by == end.verb


def test_nothing_but_a_verb_is_done() -> None:
    with pytest.raises(ValueError, match="verb 'explode' is not kill or start or halt"):
        Action("explode", "a", "crash")
    with pytest.raises(ValueError, match="verb '__init__'"):
        perform(PartPowers, "__init__")  # type: ignore[arg-type]


def test_faults_of_one_verb_that_overlap_are_one() -> None:
    for verb in VERBS:
        counts = FaultCounts()
        asked = [verb.undone_by, verb.name, verb.name, verb.undone_by, verb.undone_by]
        assert [counts.changes(name) for name in asked] == [False, True, False, False, True]
        counts.changes(verb.name)
        assert [each.name for each in VERBS if counts.holds(each.name)] == [verb.name]
        assert counts.silenced == verb.silences


@pytest.mark.slow
def test_no_module_but_the_table_lists_verbs() -> None:
    """A list that leaves a verb out is a mistake that only a reader of all lists could find.

    `analysis` imports nothing of `emulator`; so its lists are compared with the table: the boots
    and the silencing records here, `UNDOES` in tests/analysis/facts/test_outages.py.
    """
    ending = [verb for verb in VERBS if verb.ends_process]
    assert list(BOOTS.items()) == [(verb.undone_record, verb.record) for verb in ending]
    assert {verb.record for verb in VERBS if verb.silences} == SILENCING
    silencing = {record for record in SILENCING if record not in BOOTS.values()}
    copies = [{*copy, *copy.values()} for copy in (BOOTS, UNDOES)] + [silencing]
    lists = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {', '.join(sorted(named))}"
        for part in ("emulator", "analysis")
        for path in sorted((ROOT / part).rglob("*.py"))
        if path != Path(verbs.__file__)
        for node, named in _listed(tree(path))
        if len(named) > 1 and named not in copies
    ]
    assert lists == []


def _listed(module: ast.Module) -> Iterator[tuple[ast.expr | ast.pattern, set[str]]]:
    """Yield each collection and each pattern of alternatives, with the verbs among its strings."""
    for node in ast.walk(module):
        match node:
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                yield node, _words(parts)
            case ast.Dict(keys=keys, values=values):
                yield node, _words([key for key in keys if key]) | _words(values)
            case ast.MatchOr(patterns=patterns):
                values = [part.value for part in patterns if isinstance(part, ast.MatchValue)]
                yield node, _words(values)


def _words(parts: list[ast.expr]) -> set[str]:
    strings = {part.value for part in parts if isinstance(part, ast.Constant)}
    return {word for word in strings if isinstance(word, str)} & WORDS
