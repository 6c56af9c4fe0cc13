"""Tuner: Omnivore's choice of compute groups, momentum and learning rate (`emulate tune`).

Hadjis et al., Omnivore, arXiv 1606.04487, Algorithm 1, with the grids, pruning and tie rule of its
released code. Successive halving makes the first choice, or the released code's cold start.
`tune(scenario, options, out, view)` plays probes into a folder.
"""

from .grids import Setting
from .trial_ledger import TuneView
from .tune_options import TuneOptions
from .tuner import Tuned, check, tune

__all__ = ["Setting", "TuneOptions", "TuneView", "Tuned", "check", "tune"]
