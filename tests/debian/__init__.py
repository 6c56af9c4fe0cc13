"""A machine of Debian 13 under QEMU, with its kernel, engine and Python."""
