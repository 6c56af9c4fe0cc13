"""Sizes of TCP's windows that all congestion controls share, in bytes of messages."""

SEGMENT = 1448.0
"""Bytes of a message in a full frame."""
INITIAL = 10 * SEGMENT
"""The window of a connection that is new or has rested (RFC 6928)."""
RESTART = SEGMENT
"""The window after a time-out (RFC 5681)."""
