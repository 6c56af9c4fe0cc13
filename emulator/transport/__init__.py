"""Runs the core's coroutines and its server on ZeroMQ sockets and the host's clock.

The clock is `time.monotonic`. Containers on one host share this clock, so a reading taken at the
server means the same instant to a device and to the process that conducts the run.
"""
