"""Costs that limit a fleet on several hosts, and the limits on paper (docs/scale.md)."""
