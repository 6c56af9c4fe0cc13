"""What runs inside a container: a supervisor that owns the network, and the part it keeps."""
