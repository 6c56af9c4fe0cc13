"""Schedules cut pulls and pushes into segments of layers, so that transfer overlaps computing."""
