"""Box: the process that delays the packets of whole containers, where the kernel has no netem.

    up    stack ── TAP eth0 ── box ── TAP wan ── [tbf] wire (the former eth0) ── engine's bridge
    down  stack ── TAP eth0 ── box ── TAP wan [tbf] ── wire (the former eth0) ── engine's bridge

`attachment` makes the two TAP devices in the network of a container and hands their descriptors to
the box. The box reads packets at one TAP and writes the packets to the other one, later. A box
serves all links of a host, outside the CPU quotas of the containers: a box within a quota adds
hundreds of milliseconds. The kernel's tbf shapes the rate, upwards behind the box: packets that
wait at the sender's own device are on the account of the sender's TCP, which then sends few more
(TCP small queues), and a TAP device ends that account. A superpacket of TCP stays whole, with its
offload header, unless packets meet their fates one by one. The containers lose their network if the
box dies.
"""
