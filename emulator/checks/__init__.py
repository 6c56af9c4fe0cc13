"""What a scenario is refused or warned of before a run, on this host and by itself."""
