"""Plays a scenario in containers: real processes, real packets, real failures."""
