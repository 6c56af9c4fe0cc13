"""Errors of users' code as a line of text: type and message."""

import re

_LONGEST = 400
"""Characters of an error's message that are shown."""

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
"""Sequences with which a terminal changes colours; messages of Keras contain them."""


def error_text(error: BaseException) -> str:
    """Return type and message of `error` on one line, as `ValueError: no such class`.

    A long message is cut, with the number of its characters. Characters that cannot be printed are
    left out, and so is the message of an error that fails to give its text.
    """
    name = type(error).__name__
    try:
        said = str(error.msg if isinstance(error, SyntaxError) else error)
    except Exception:  # the type is of the user, and so is its `__str__`
        return name
    shown = "".join(mark if mark.isprintable() else " " for mark in _COLOURS.sub("", said))
    text = " ".join(shown.split())
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}… ({len(said):,} characters)"
    return f"{name}: {text}" if text else name
