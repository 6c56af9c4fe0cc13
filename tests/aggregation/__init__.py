"""Tests of aggregation."""
