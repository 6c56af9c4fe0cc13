"""Virtual time: the containers' coroutines and server, on a heap of events in one process.

    clock           Heap: the time and the planned events; Alarms: time-outs of waiting nodes
    links/          exact links of groups of devices, TCP's habits on top, the server's link
    learning/       gradients computed ahead by threads; in virtual time a handle travels instead
    device/         a node's coroutine on the heap: CPU quota, pauses, passes, battery, and verbs
                    done to it, as planned or as drawn
    server/         drives the parameter server: its time for updates, its crashes, and the one way
                    between a device and the server, with messages, cuts and reconnects
    fleet           makes and boots all nodes; workers: a coroutine and a learner for each boot
    virtual_runtime puts the parts together for the conductor; play_virtual: a whole run

Events run in the order of time, ties in the order of planning. Every draw comes from a named
stream, and threads only compute numbers that are determined already. So the same scenario and seed
give the same bytes in `run.jsonl`, however many threads there are.
"""
