"""The runtime of containers on several hosts, which a Docker Swarm joins.

The conductor is on a manager of the swarm, with the server and the evaluator. On each other host an
agent leads to the engine, so the devices there are made and watched as those of this machine are.
"""
