"""Plays a workload: programs of others in containers, behind the links of sidecars."""
