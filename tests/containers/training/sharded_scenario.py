"""The scenario by which shards of the server are played in containers."""

SHARDS = 2

ALIKE = f"""
# Do shards in containers make the steps of one server?
name: sharded
training:
  {{dataset: digits, model: digits-mlp, learning_rate: 0.1, batch_size: 16,
    codec: {{kind: topk, keep: 20%, scope: variable}}, modulation: per-parameter,
    synchronization: barrier, schedule: sequential, optimizer: momentum}}
stop: {{updates: 201}}
evaluate: {{every: 67}}
server: {{shards: {SHARDS}}}
devices: [{{name: pi, count: 3}}]
"""
