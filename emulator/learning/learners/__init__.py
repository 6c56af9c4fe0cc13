"""Learners compute gradients and accuracy; only this package knows TensorFlow."""
