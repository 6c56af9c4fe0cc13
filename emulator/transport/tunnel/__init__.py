"""A connection from a conductor to an agent on another host: byte streams, and questions.

One encrypted ZeroMQ connection carries any number of byte streams, each between a connection to a
Unix socket at the conductor's end and one to the agent's engine, and questions with answers.
"""
