"""The error of the analysis."""


class RunError(Exception):
    """Raised for a folder that cannot be read as a run; the message names the place and remedy."""
