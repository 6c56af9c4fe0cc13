"""What measures links: two namespaces on any kernel, and a machine whose kernel has netem."""
