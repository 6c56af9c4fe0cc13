"""What `make bench` measures, one thing a file. Each is bounded in time and ends by itself."""
