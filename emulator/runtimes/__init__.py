"""Runtimes, which play a scenario: containers, and virtual time. Neither imports the other."""
