"""The programs inside a container: a supervisor, which owns the network, and the node's part."""
