"""Virtual time: the bare work of a fleet, runs of ever larger ones, and the figure of an event."""
