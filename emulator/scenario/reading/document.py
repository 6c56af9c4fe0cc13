"""Plain data that still knows where each of its values was written, and what is wrong with it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

Step: TypeAlias = str | int
Address: TypeAlias = tuple[Step, ...]


def place(address: Iterable[Step]) -> str:
    """`("devices", 1, "link")` as `devices[1].link`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in address)
    return text.removeprefix(".")


class Mark(NamedTuple):
    """Where a value was written."""

    file: str
    line: int | None
    address: Address
    """Inside that file: a profile's values are not where the scenario has them."""


class Mistake(NamedTuple):
    """One thing to mend, and where."""

    mark: Mark
    message: str

    def __str__(self) -> str:
        file, line, address = self.mark
        where = f"{file}:{line}" if line else file
        return ": ".join(filter(None, (where, place(address), self.message)))

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        file, line, address = self.mark
        return {"file": file, "line": line, "place": place(address), "message": self.message}


@dataclass
class Document:
    """A value, a mark for each value inside it, and the mistakes found so far."""

    data: Any
    marks: dict[Address, Mark]
    mistakes: list[Mistake] = field(default_factory=list)
    broken: set[Address] = field(default_factory=set)
    """Where a mistake was found: what follows from it is not another one."""
    _told: set[Mistake] = field(default_factory=set)

    def at(self, address: Address) -> Any:
        """Return the value at `address`; None where the document has no value."""
        value = self.data
        for step in address:
            try:
                value = value[step]
            except (LookupError, TypeError):
                return None
        return value

    def mark(self, address: Address) -> Mark:
        """The mark of the value, or of the nearest one that holds it."""
        ends = range(len(address), -1, -1)
        known = next(address[:end] for end in ends if address[:end] in self.marks)
        file, line, inside = self.marks[known]
        return Mark(file, line, inside + address[len(known) :])

    def complain(self, address: Address, message: str) -> None:
        self.broken.add(address)
        self._add(Mistake(self.mark(address), message))

    def doubts(self, address: Address) -> bool:
        """Whether a mistake was found there, or in what holds it."""
        return any(address[:end] in self.broken for end in range(len(address) + 1))

    def graft(self, address: Address, other: "Document") -> None:
        """Put `other` there, with its marks and mistakes; what holds the place must exist."""
        if isinstance(self.at(address), dict | list):  # else no mark lies inside: spare the search
            inside = [at for at in self.marks if at[: len(address)] == address]
            for at in inside:
                del self.marks[at]
        self.marks |= {address + at: mark for at, mark in other.marks.items()}
        self.broken |= {address + at for at in other.broken}
        for mistake in other.mistakes:
            self._add(mistake)
        self.at(address[:-1])[address[-1]] = other.data

    def _add(self, mistake: Mistake) -> None:
        if mistake not in self._told:  # one profile may serve many devices
            self._told.add(mistake)
            self.mistakes.append(mistake)
