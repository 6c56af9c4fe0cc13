"""Costs of a run in seconds, bytes and cores, reckoned from a scenario and from calibrations."""
