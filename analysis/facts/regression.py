"""Whether a run trained a regression, whose evaluations have an error in place of an accuracy."""

from ..reading.kept_facts import fact
from ..reading.runs import Run


@fact
def is_regression(run: Run) -> bool:
    """Return whether any evaluation of `run` has a mean absolute error."""
    return bool(run.records("evaluation")["error"].notna().any())
