"""The entry point of every container."""

from .supervisor import main

main()
