"""Checks of a scenario before a run, by itself and on this host: refusals, warnings, notes."""
