"""Box: the process that delays the packets of whole containers, where the kernel has no netem.

    stack ── TAP eth0 [tbf] ── box ── TAP wan ── wire (the former eth0) ── bridge of the engine
    stack ── TAP eth0 ── box ── [tbf] TAP wan ── wire (the former eth0) ── bridge of the engine

`attachment` makes the two TAP devices in the network of a container and hands their descriptors to
the box. The box reads packets at one TAP and writes the packets to the other one, later. A box
serves all links of a host, outside the CPU quotas of the containers: a box within a quota adds
hundreds of milliseconds. A superpacket of TCP stays whole, with its offload header, unless packets
meet their fates one by one. The containers lose their network if the box dies.
"""
