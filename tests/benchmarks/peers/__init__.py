"""Milliseconds of a core for an update: this project beside other systems of distributed training.

The peers run in an environment of their own, `.venv-peers`, which has no part of this project.
"""
