"""The figures, one in each file: a table made from runs, and a drawing made from the table."""

from collections.abc import Sequence
from typing import Protocol

import pandas as pd
from matplotlib.axes import Axes

from ..reading.runs import Run


class FigureModule(Protocol):
    """A module in `figures/`: a title, a caption, a table and a drawing."""

    @property
    def __name__(self) -> str: ...

    @property
    def TITLE(self) -> str: ...

    @property
    def CAPTION(self) -> str: ...

    def table(self, runs: Sequence[Run]) -> pd.DataFrame:
        """Return the data of the figure; the first column, `run`, has the label of the run."""

    def draw(self, table: pd.DataFrame, ax: Axes) -> None:
        """Draw `table` on `ax`; for an empty table write a sentence about the missing data."""
