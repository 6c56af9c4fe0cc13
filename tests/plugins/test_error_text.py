"""Errors of users' code, each shown as one line, and the ends of its processes."""

import pytest

from emulator.plugins.own_process import ending
from emulator.plugins.python_file import error_text


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such class"), "ValueError: no such class"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (ValueError("\x1b[1mbold\x1b[0m,\n\n  next\r\x07line"), "ValueError: bold, next line"),
        (ValueError("größe \udc80"), "ValueError: größe"),
        (SyntaxError("invalid", ("a.py", 1, 1, "x")), "SyntaxError: invalid"),
        (ValueError("x" * 10_000), f"ValueError: {'x' * 400}… (10,000 characters)"),
        (Silent(), "Silent"),
    ],
)
def test_an_error_is_a_line_that_can_be_printed(error: BaseException, text: str) -> None:
    assert error_text(error) == text


def test_the_end_of_a_process_is_told_in_words() -> None:
    assert ending(3) == "ended with exit status 3"
    assert ending(-6) == "was ended by SIGABRT"
    assert ending(-9) == "was ended by SIGKILL, as the kernel does when memory is short"
