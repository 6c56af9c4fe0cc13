# What rarely changes under the node image: a few wheels and TensorFlow's C API, 30 times larger than all else.
ARG BASE=emulate/base:bookworm
FROM ${BASE}
COPY tensorflow /opt/tensorflow
COPY packages /opt/packages
# Containers have a read-only root: what is not compiled here is compiled at every start.
RUN python3 -m compileall -q --invalidation-mode unchecked-hash /opt/packages
