"""Measures the access link of a container while the container works: rate, delay, jitter, loss."""
