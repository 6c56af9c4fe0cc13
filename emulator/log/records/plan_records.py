"""Record types of a device's schedule: a plan, and the iterations that followed it."""

from .record_fields import Layers, LogRecord, Rate, Spans, Time, Times


class PlanRecord(LogRecord, tag="plan"):
    """A device cut its next pulls and pushes into segments of layers.

    Only with a `training.schedule` other than `sequential`. Times of spans count from the begin of
    their phase. The forward phase begins at the moment at which the first bit of the model can
    reach the device, and ends with the last layer's forward pass. The backward phase begins with
    the last layer's backward pass, and ends when the last bit of the push has left the device's
    link.
    """

    node: str
    """Device that made the plan."""
    iteration: int
    """First iteration that follows the plan. A device counts its iterations from 1, anew after each
    boot."""
    kind: str
    """Kind of the schedule, as `dynacomm`."""
    pull: Layers
    """Segments of a pull in the order in which they travel, first layers first."""
    push: Layers
    """Segments of a push in the order in which they travel, last layers first."""
    t_forward: Time
    """Predicted duration of the forward phase."""
    t_backward: Time
    """Predicted duration of the backward phase."""
    t_iteration: Time
    """Predicted duration of an iteration: both phases, and the rest as measured so far (the
    request, the server, the wait for other devices); without a measurement the rest is zero."""
    pull_setup: Time
    """Time for which each segment of a pull holds the link before its first bit."""
    push_setup: Time
    """Time for which each segment of a push holds the link before its first bit."""
    down_rate: Rate | None
    """Rate of the link to the device; null if a transfer takes no time."""
    up_rate: Rate | None
    """Rate of the link from the device; null if a transfer takes no time."""
    pull_times: Times
    """Transfer of each layer's parameters, without set-up, layer 1 first."""
    forward_times: Times
    """Forward pass of each layer, layer 1 first."""
    backward_times: Times
    """Backward pass of each layer, layer 1 first."""
    push_times: Times
    """Transfer of each layer's encoded gradient, without set-up, layer 1 first."""
    pulled: Spans
    """Predicted transfer of each segment of `pull`, since the forward phase began."""
    forward: Spans
    """Predicted forward pass of each segment of `pull`, since the forward phase began."""
    backward: Spans
    """Predicted backward pass of each segment of `push`, since the backward phase began."""
    pushed: Spans
    """Predicted transfer of each segment of `push`, since the backward phase began."""


class IterationRecord(LogRecord, tag="iteration"):
    """The iterations of a device under one plan: median times, and the trace of the last iteration.

    Only with a `training.schedule` other than `sequential`. The phases are those of `plan`. An
    iteration that a fault interrupted does not count.
    """

    node: str
    """Device that the iterations belong to."""
    iteration: int
    """The last of the iterations, as `plan` counts them."""
    iterations: int
    """Number of iterations that the medians were taken of."""
    pull: Layers
    """Segments of each pull, first layers first."""
    push: Layers
    """Segments of each push, last layers first."""
    t_forward: Time
    """Median duration of the forward phase."""
    t_backward: Time
    """Median duration of the backward phase."""
    t_iteration: Time
    """Median time from the server's answer to a pull to its answer to the next pull."""
    predicted_forward: Time
    """The plan's `t_forward`."""
    predicted_backward: Time
    """The plan's `t_backward`."""
    predicted_iteration: Time
    """The plan's `t_iteration`."""
    pulled: Spans
    """Transfer of each segment of `pull` in the last iteration, since its forward phase began."""
    forward: Spans
    """Forward pass of each segment of `pull` in the last iteration, since its forward phase
    began."""
    backward: Spans
    """Backward pass of each segment of `push` in the last iteration, since its backward phase
    began."""
    pushed: Spans
    """Transfer of each segment of `push` in the last iteration, since its backward phase began."""
