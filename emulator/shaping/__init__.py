"""Shaping of a node's access link: by tc and nft inside its container, or by delaying messages.

Each node shapes itself and knows no other nodes. `probe` tests the kernel, `backend` chooses a
mechanism for each part of a link, `access` writes the commands, and `command` runs them. Where the
kernel cannot delay packets, `box` does; where not even TAP devices exist, `hold` delays messages.
"""
