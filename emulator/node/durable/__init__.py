"""Durability: the server's inputs, on disk before they take effect, and saved states.

    segment_file      framed, checksummed records, appended to a file
    input_log         the server's inputs as such records, in segments
    packed_state      the server's state as JSON and arrays, and back
    state_folder      states in checksummed files, and segments: what is kept, and what is read
    log_tail          the end of `run.jsonl`, at which a recovered server goes on
    durable_server    the parameter server with all this
    recovery          makes the server from the plan, then from the disk

The server is a function of its inputs: messages, ticks, and the times at which they came. So its
inputs, replayed from a checkpoint, give the same model and the same lines of `run.jsonl`.
"""
