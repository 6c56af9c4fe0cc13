"""Workers as forks of one process that has opened TensorFlow."""
