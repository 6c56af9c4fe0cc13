"""The timeline of a run, as compiled from a scenario: faults, and changes of links."""
