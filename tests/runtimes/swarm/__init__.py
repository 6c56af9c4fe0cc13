"""Tests of the runtime on several hosts, on Docker engines of this machine."""
