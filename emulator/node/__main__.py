"""The entry point of every container."""

from . import config, gateway_life, supervisor

node = config.read()
if isinstance(node.part, config.GatewayRole):
    gateway_life.main(node)
else:
    supervisor.main()
