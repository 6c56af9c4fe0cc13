"""Benchmarks of `emulate tune`: its choices beside an exhaustive search, on fleets of two kinds."""
