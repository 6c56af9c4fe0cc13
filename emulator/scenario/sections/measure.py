"""Section `measure`: facts of a run that cost memory or time, and are kept only when asked for."""

from typing import Annotated

from pydantic import Field

from .devices import Section


class MomentumSection(Section):
    """Momentum: each of the run's first steps is kept beside the gradient at the model before it.

    `emulate report` and `emulate compare` fit the implicit momentum of asynchronous training to
    them (Mitliagkas et al., 2016).
    """

    steps: Annotated[int, Field(ge=10, le=100_000)] = 1000
    """Number of steps of the server to keep, from the first step on."""
    examples: Annotated[int, Field(ge=1)] = 100
    """Number of training examples, drawn anew for each step, over which the gradient at the model
    before the step is taken."""
    directions: Annotated[int, Field(ge=1, le=4096)] = 64
    """Number of random sums of parameters in which steps and gradients are kept. A model with no
    more parameters than this is kept whole."""


class MeasureSection(Section):
    """Measurements that a run makes only on request."""

    momentum: MomentumSection | None = None
    """Momentum of the run's steps, kept in `trajectory.npz`. Only in virtual time, with real
    gradients."""
