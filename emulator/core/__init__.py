"""The learning protocol, free of sockets, clocks and dice.

Nothing here imports zmq, docker, tensorflow, time or random: runtimes drive it, on real
packets or on a heap in virtual time, and it behaves alike in both. Draws come from streams that
`emulator/chance.py` names.
"""
