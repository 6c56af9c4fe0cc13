"""Learners: what turns weights into gradients, and the only place that knows TensorFlow."""
