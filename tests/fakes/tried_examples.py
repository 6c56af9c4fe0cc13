"""Property tests that are tried on few examples by `make check`, and on many by `make ci`."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy

Test = Callable[..., None]


def tried(quick: int, slow: int, **strategies: SearchStrategy[Any]) -> Callable[[Test], Test]:
    """Decorate a test with `given(**strategies)`, once for `quick` and once for `slow` examples.

    The second of the two has the mark `slow`. Explicit examples (`example`) are part of both.
    """

    def decorate(test: Test) -> Test:
        variants = {
            count: settings(max_examples=count, deadline=None)(given(**strategies)(test))
            for count in (quick, slow)
        }

        @wraps(test)
        def run(*, examples: int, **arguments: Any) -> None:
            variants[examples](**arguments)

        # Hypothesis refuses explicit examples on a function without `given`
        run.__dict__.pop("hypothesis_explicit_examples", None)
        # pytest reads the signature: arguments that no strategy draws, and the number of examples
        drawn = signature(test).parameters
        kept = [drawn[name] for name in drawn if name not in strategies]
        kept = [item.replace(kind=Parameter.KEYWORD_ONLY) for item in kept]
        number = Parameter("examples", Parameter.KEYWORD_ONLY, annotation=int)
        run.__signature__ = signature(test).replace(parameters=[*kept, number])  # type: ignore[attr-defined]
        counts = [
            pytest.param(quick, id="few"),
            pytest.param(slow, id="many", marks=pytest.mark.slow),
        ]
        return pytest.mark.parametrize("examples", counts)(run)

    return decorate
