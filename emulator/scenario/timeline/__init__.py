"""What happens in a run and when, as compiled from a scenario: faults, and changes of links."""
