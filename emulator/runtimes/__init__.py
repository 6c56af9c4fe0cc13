"""Runtimes, which play a scenario: containers, virtual time, and containers on several hosts.

The runtime of several hosts stands on that of containers; otherwise none imports another.
"""
