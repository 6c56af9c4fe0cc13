"""Every aggregation, with other settings too."""

import pytest

from emulator.aggregation import Krum, Mean, Median, MultiKrum, NormClip, TrimmedMean

TABLE = [
    pytest.param(Mean(), id="mean"),
    pytest.param(Median(), id="median"),
    pytest.param(TrimmedMean(), id="trimmed-mean"),
    pytest.param(Krum(1), id="krum"),
    pytest.param(MultiKrum(1), id="multi-krum"),
    pytest.param(NormClip(), id="norm-clip"),
    pytest.param(NormClip(2.0), id="norm-clip-2"),
]
