"""A document: plain data, with file and line of every value, and the mistakes in the data."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ...errors import ScenarioError
from ...plugins.python_file import is_reference

Step: TypeAlias = str | int
Address: TypeAlias = tuple[Step, ...]

LONGEST_MESSAGE = 1_000
"""Characters of a mistake's message."""
_LONGEST_STEP = 60
"""Characters of a key in a place."""


def place(address: Iterable[Step]) -> str:
    """Return `address` as text, for example `devices[1].link` for `("devices", 1, "link")`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{_key(step)}" for step in address)
    return text.removeprefix(".")


def _key(step: str) -> str:
    return step if len(step) <= _LONGEST_STEP else f"{step[:_LONGEST_STEP]}…"


class Mark(NamedTuple):
    """The file, line and address at which a value is written."""

    file: str
    line: int | None
    address: Address
    """Address inside `file`, which for a value from a profile differs from the scenario's."""
    typed: bool = False
    """Whether the value stands in an option or an override, and `file` is the text of it."""


class Mistake(NamedTuple):
    """A mistake in a scenario, with the place to mend."""

    mark: Mark
    message: str

    def __str__(self) -> str:
        file, line, address, _ = self.mark
        where = f"{file}:{line}" if line else file
        return ": ".join(filter(None, (where, place(address), self.message)))

    def plain(self) -> dict[str, Any]:
        """Return file, line, place and message as JSON types."""
        file, line, address, _ = self.mark
        return {"file": file, "line": line, "place": place(address), "message": self.message}


def refused(mistakes: Sequence[Mistake]) -> ScenarioError:
    """Return the error with `mistakes`, a line for each."""
    return ScenarioError("\n".join(map(str, mistakes)), [each.plain() for each in mistakes])


def _exists(path: str) -> bool:
    """Return whether `path`, also of a function or a class in a Python file, names something."""
    file = path.rpartition(":")[0] if is_reference(path) else path
    try:
        return any(Path().glob(file)) if "*" in file else Path(file).exists()
    except (OSError, ValueError, NotImplementedError):  # no text of a path
        return False


@dataclass
class Document:
    """A value with marks for the values inside, and the mistakes reported so far."""

    data: Any
    marks: dict[Address, Mark]
    mistakes: list[Mistake] = field(default_factory=list)
    broken: set[Address] = field(default_factory=set)
    """Addresses with a mistake: no further mistake at or below them is reported."""
    _reported: set[Mistake] = field(default_factory=set)

    def at(self, address: Address) -> Any:
        """Return the value at `address`; None where the document has no value."""
        value = self.data
        for step in address:
            try:
                value = value[step]
            except (LookupError, TypeError):
                return None
        return value

    def entries(self, address: Address, kind: type = object) -> Iterator[tuple[Address, Any]]:
        """Yield the entries of the list at `address` that are of `kind`, with their addresses."""
        values = self.at(address)
        for number, value in enumerate(values if isinstance(values, list) else ()):
            if isinstance(value, kind):
                yield (*address, number), value

    def faults(self) -> Iterator[tuple[Address, dict[str, Any]]]:
        """Yield the mappings among the scenario's faults, then in the profiles of its devices."""
        yield from self.entries(("faults",), dict)
        for group, _ in self.entries(("devices",)):
            for profile, _ in self.entries((*group, "failures")):
                yield from self.entries((*profile, "faults"), dict)

    def mark(self, address: Address) -> Mark:
        """Return the mark of the value at `address`, or of the innermost value around it that has
        a mark, with the rest of `address` appended.
        """
        ends = range(len(address), -1, -1)
        known = next(address[:end] for end in ends if address[:end] in self.marks)
        mark = self.marks[known]
        return mark._replace(address=mark.address + address[len(known) :])

    def folder(self, address: Address, path: str, scenario: Path) -> Path:
        """Return the folder from which `path` counts, the text of the value at `address`.

        That is the folder of the file that holds the value, with `scenario` for the scenario
        itself. In an option or an override, `path` counts from the working directory; a path that
        names nothing there counts from `scenario`, as it does in the file.
        """
        mark = self.mark(address)
        if mark.typed:
            return Path() if _exists(path) else scenario
        return scenario if mark.file == self.marks[()].file else Path(mark.file).parent

    def complain(self, address: Address, message: str) -> None:
        """Record a mistake in the value at `address`."""
        self.broken.add(address)
        self.note(Mistake(self.mark(address), message))

    def has_mistake(self, address: Address) -> bool:
        """Return whether the value at `address`, or a value around it, has a mistake."""
        return any(address[:end] in self.broken for end in range(len(address) + 1))

    def refusal(self) -> ScenarioError:
        """Return the error with all mistakes: those in the document's own file first, by line."""
        first = self.marks[()].file
        mistakes = sorted(
            self.mistakes,
            key=lambda found: (found.mark.file != first, found.mark.file, found.mark.line or 0),
        )
        return refused(mistakes)

    def graft(self, address: Address, other: "Document") -> None:
        """Put the data, marks and mistakes of `other` at `address`.

        The mapping or list that holds `address` must exist.
        """
        # a plain value has no marks inside, so the search through all marks is spared
        if isinstance(self.at(address), dict | list):
            inside = [at for at in self.marks if at[: len(address)] == address]
            for at in inside:
                del self.marks[at]
        self.marks |= {address + at: mark for at, mark in other.marks.items()}
        self.broken |= {address + at for at in other.broken}
        for mistake in other.mistakes:
            self.note(mistake)
        self.at(address[:-1])[address[-1]] = other.data

    def remove(self, address: Address) -> None:
        """Remove the value at `address`; marks of later entries of the same list move up."""
        holder, last = address[:-1], address[-1]
        del self.at(holder)[last]
        marks, depth = dict[Address, Mark](), len(holder)
        for at, mark in self.marks.items():
            step = at[depth] if len(at) > depth and at[:depth] == holder else None
            if step is not None and step == last:
                continue
            if isinstance(step, int) and isinstance(last, int) and step > last:
                at = (*holder, step - 1, *at[depth + 1 :])
            marks[at] = mark
        self.marks = marks

    def note(self, mistake: Mistake) -> None:
        """Record `mistake`, which may lie in another file, once."""
        if len(mistake.message) > LONGEST_MESSAGE:  # as with a path of thousands of characters
            mistake = mistake._replace(message=f"{mistake.message[:LONGEST_MESSAGE]}…")
        # many devices may name one profile, and its mistakes are reported once
        if mistake not in self._reported:
            self._reported.add(mistake)
            self.mistakes.append(mistake)
