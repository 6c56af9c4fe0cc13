"""What the analysis raises on purpose."""


class RunError(Exception):
    """This folder cannot be read as a run; the message says what was found and expected."""
