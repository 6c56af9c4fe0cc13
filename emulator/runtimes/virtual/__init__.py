"""Virtual time: the containers' coroutines and server, on a heap of events in one process.

    clock/            Heap: the time and the planned events; Alarms: time-outs of waiting nodes
    links/            exact links of groups of devices, TCP's habits on top, the server's link
    learning/         gradients computed ahead by threads; in virtual time a handle travels instead
    device/           VirtualDevice: a node's coroutine on the heap; CPU quota, pauses, passes
    channel           the one way between a device and the server: messages, cuts, reconnects
    device_faults     verbs done to devices, as planned or as drawn
    virtual_server    drives the parameter server; server_processor: the time that updates take
    fleet             makes and boots all nodes; workers: a coroutine and a learner for each boot
    virtual_runtime   puts the parts together for the conductor; play_virtual: a whole run

Events run in the order of time, ties in the order of planning. Every draw comes from a named
stream, and threads only compute numbers that are determined already. So the same scenario and seed
give the same bytes in `run.jsonl`, however many threads there are.
"""
