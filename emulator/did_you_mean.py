"""Suggestions for misspelt names in error messages."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggestion(word: object, known: Iterable[str]) -> str:
    """Return ` (did you mean 'topk'?)` with the known name nearest to `word`, or an empty text."""
    close = get_close_matches(str(word), list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
