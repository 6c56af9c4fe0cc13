"""The sections of a scenario file: the keys of each, and the types of their values."""
