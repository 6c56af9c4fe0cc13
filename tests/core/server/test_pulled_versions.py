"""The versions that nodes compute on: the oldest is known at once, and all come in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.server.pulled_versions import PulledVersions

ROUNDS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(["begin", "end", "push", "release"])),
    max_size=60,
)
STEPS = st.lists(st.tuples(st.sampled_from("abcd"), st.booleans(), st.integers(0, 3)), max_size=60)


@given(STEPS)
def test_the_oldest_is_the_least_of_all(steps: list[tuple[str, bool, int]]) -> None:
    working, plain, version = PulledVersions(), dict[str, int](), 0
    for node, begins, newer in steps:
        version += newer
        if begins:
            working.begin(node, version)
            plain[node] = version
        else:
            working.end(node)
            plain.pop(node, None)
        assert working.version(node) == plain.get(node)
        assert working.oldest == min(plain.values(), default=None)
        assert list(working) == sorted(set(plain.values()))


@pytest.mark.slow
@given(ROUNDS)
def test_a_version_is_needed_until_its_push_has_made_a_step(rounds: list[tuple[str, str]]) -> None:
    working, plain, waiting = PulledVersions(), dict[str, int](), list[int]()
    for version, (node, verb) in enumerate(rounds):
        if verb == "begin":
            working.begin(node, version)
            plain[node] = version
        elif verb == "end":
            working.end(node)
            plain.pop(node, None)
        elif verb == "push" and node in plain:
            working.push(node)
            waiting.append(plain.pop(node))
        elif verb == "release" and waiting:
            working.release(waiting.pop())
        assert working.version(node) == plain.get(node)
        assert list(working) == sorted({*plain.values(), *waiting})
