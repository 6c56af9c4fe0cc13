"""The entry point of every container."""

from . import config, supervisor
from .link import gateway_life

node = config.read()
if isinstance(node.part, config.GatewayRole):
    gateway_life.main(node)
else:
    supervisor.main()
