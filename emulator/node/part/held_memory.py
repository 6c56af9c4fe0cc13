"""A process that takes memory and holds it until standard input ends.

It runs as a plain file, without the modules of this package, so that it starts quickly.
"""

import mmap
import sys


def main() -> None:
    """Take as many bytes as the first argument says, write a line once they are held, and wait."""
    size = int(sys.argv[1])
    # one call of the kernel takes the pages, which is cheaper than a fault for each
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    held = mmap.mmap(-1, max(size, 1), flags=flags)
    # if memory ran out meanwhile, the call took only some of the pages, and said nothing
    held[:: mmap.PAGESIZE] = b"\1" * -(-len(held) // mmap.PAGESIZE)
    print("held", flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
