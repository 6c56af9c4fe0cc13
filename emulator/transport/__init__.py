"""Runs the core's coroutines and its server on ZeroMQ sockets and an `EmulatedClock`.

All times are in emulated seconds. The sockets alone count in real time: `Peer` and `Router`
translate, each by its `clock`, which the drivers use as well.
"""
