"""Names of the server and the evaluator, which every run has. A device may not use these names."""

SERVER = "server"
EVALUATOR = "evaluator"
