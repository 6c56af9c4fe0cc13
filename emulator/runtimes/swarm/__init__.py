"""Plays a scenario on several hosts, whose Docker engines are one Swarm."""
