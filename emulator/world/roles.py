"""Names of the server and the evaluator, which every run has; no device may use these names."""

SERVER = "server"
EVALUATOR = "evaluator"
