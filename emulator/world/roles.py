"""The two nodes that every run has beside its devices; no device may bear their names."""

SERVER = "server"
EVALUATOR = "evaluator"
