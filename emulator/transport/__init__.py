"""The same stories and the same server on ZeroMQ sockets and the host's clock.

The clock is `time.monotonic`: containers on one host share it, so a reading taken at the
server means the same instant to a device and to whoever watches the run.
"""
