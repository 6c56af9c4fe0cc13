"""Record type of a model that is cut between devices and server."""

from .record_fields import LogRecord, Size


class ActivationsRecord(LogRecord, tag="activations"):
    """The server computed its layers of a cut model on a device's activations, and answered.

    Only with a `training.fully_connected`. The `update` with the device's own layers follows.
    """

    node: str
    """Device that sent the activations."""
    version: int
    """Version of the device's layers, with which the activations were computed."""
    server_version: int
    """Version of the server's layers after the step that the activations took part in."""
    staleness: int
    """Updates that the server applied to its layers between the pass and the step."""
    rows: int
    """Examples of the mini-batch."""
    up: Size
    """Size on the wire of the device's messages: activations, and labels or the gradient by the
    server's outputs."""
    down: Size
    """Size on the wire of the server's messages: the gradient by the activations, and the outputs
    if labels stay on the device."""
    loss: float | None
    """Loss on the mini-batch; null if it is not finite, or if nobody learns."""
