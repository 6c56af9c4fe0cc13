"""Where a scenario comes true. Runtimes never know of each other."""
