"""The entry point of every container."""

from . import config, gateway, supervisor

node = config.read()
if isinstance(node.part, config.GatewayRole):
    gateway.main(node)
else:
    supervisor.main()
