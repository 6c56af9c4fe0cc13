"""What a run costs: seconds, bytes and cores, reckoned from a scenario and from calibrations."""
