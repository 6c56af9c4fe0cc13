# The libraries below the node image, which rarely change: a few wheels, and TensorFlow's C API, 30 times larger than the rest.
ARG BASE=emulate/base:bookworm
FROM ${BASE}
COPY tensorflow /opt/tensorflow
COPY packages /opt/packages
# Containers have a read-only root: modules not compiled here would be compiled at every start.
RUN python3 -m compileall -q --invalidation-mode unchecked-hash /opt/packages
