"""What was probably meant by a name that is not known."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggestion(word: object, known: Iterable[str]) -> str:
    """` (did you mean 'topk'?)`, or nothing."""
    close = get_close_matches(str(word), list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
