"""A node's access link made real: by tc and nft inside its container, or by waiting.

Each node shapes itself, so nothing here knows of other nodes. `probe` tries what the kernel
can do, `backend` decides who serves what, `access` writes the commands, `apply` runs them,
and `hold` delays messages where no kernel can.
"""
