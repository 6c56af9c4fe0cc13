"""Layer tables of published networks: the networks' definitions, and the shipped files' tests."""
