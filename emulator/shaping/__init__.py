"""Shaping of a node's access link: by tc and nft inside its container, or by delaying messages.

Each node shapes itself and knows no other nodes. `probe` tests the kernel, `backend` chooses a
mechanism for each part of a link, `access` writes the commands, `apply` runs them, and `hold`
delays messages where the kernel cannot.
"""
