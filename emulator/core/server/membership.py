"""The members of a run, workers and evaluator, and the hellos that they have said."""

from collections.abc import Iterable

from ..wire.messages import Hello


class Membership:
    """Gathers the members. The run begins once each of them has said hello."""

    def __init__(self, workers: Iterable[str], evaluator: str | None) -> None:
        self.workers = frozenset(workers)
        self.evaluator = evaluator
        self._missing = {*self.workers, *filter(None, [evaluator])}
        self._hellos: dict[str, tuple[float, int]] = {}
        self.away: set[str] = set()
        """Workers that have said goodbye, and no hello since."""

    @property
    def names(self) -> list[str]:
        """Every member, sorted."""
        return sorted({*self.workers, *filter(None, [self.evaluator])})

    @property
    def missing(self) -> list[str]:
        """Members that have not said hello, sorted."""
        return sorted(self._missing)

    @property
    def present(self) -> list[str]:
        """Members that have said hello, sorted."""
        return [name for name in self.names if name not in self._missing]

    def __contains__(self, name: str) -> bool:
        return name in self.workers or name == self.evaluator

    def greet(self, hello: Hello, now: float) -> bool:
        """Note the `hello` of a member; return whether no member is missing any more."""
        self._hellos[hello.node] = now, hello.incarnation
        self._missing.discard(hello.node)
        return not self._missing

    def take_hellos(self) -> dict[str, tuple[float, int]]:
        """Return time and incarnation of the last hello of each member, and forget them."""
        hellos, self._hellos = self._hellos, {}
        return hellos
