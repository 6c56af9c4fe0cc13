"""Emulate edge devices that train together over real, shaped, failing networks."""
