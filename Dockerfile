# An inference image with numapin in front of its server:
#
#   podman build --build-arg BASE_IMAGE=docker.io/vllm/vllm-openai:v0.32.0 --tag vllm-numapin .
#
# The base image gains one folder, /opt/numapin, and an entrypoint. Nothing there is on PATH, on the server's import
# path or in its environment.

ARG BASE_IMAGE=docker.io/vllm/vllm-openai:v0.32.0
# The oldest Python that numapin runs on; one abi3 module made there serves 3.10 and everything after it. Debian 12's
# compiler and libnuma leave nothing in it that needs a newer glibc than 2.35 (Ubuntu 22.04, under CUDA images):
# tests/containers/test_image.py reads that from the files.
ARG BUILD_IMAGE=docker.io/library/python:3.10-slim-bookworm


FROM ${BUILD_IMAGE} AS wheel
WORKDIR /src
COPY tools/setup tools/setup
RUN tools/setup build
COPY pyproject.toml README.md LICENSE ./
COPY csrc csrc
COPY numapin numapin
# pip travels along because the base image need not have one.
RUN python3 -m pip wheel --no-deps --wheel-dir /wheels . pip
# libnuma.so.1 goes beside the module, which looks there first (its run path is $ORIGIN): the base image then needs no
# package manager and no network, and as a file of its own the library stays what the LGPL asks, replaceable.
RUN mkdir /libnuma \
    && cp -L "$(ldconfig -p | sed -n 's/.*libnuma\.so\.1 .* => //p' | head -n 1)" /libnuma/libnuma.so.1 \
    && cp /usr/share/doc/libnuma1/copyright /libnuma/libnuma.copyright


FROM ${BASE_IMAGE} AS packages
USER 0
COPY --from=wheel /wheels /wheels
# By the base image's own Python, which is the one that will import them.
RUN PYTHONPATH=$(echo /wheels/pip-*.whl) python3 -m pip install --no-cache-dir --no-compile --target /opt/numapin/lib \
        /wheels/numapin-*.whl \
    && rm -r /opt/numapin/lib/bin
COPY --from=wheel /libnuma /opt/numapin/lib/numapin/
# Unchecked: the folder never changes, and a read-only or rebuilt file system must not make Python compile again.
RUN python3 -m compileall -q --invalidation-mode unchecked-hash /opt/numapin/lib
COPY entrypoint /opt/numapin/entrypoint
RUN mkdir /opt/numapin/bin && ln -s ../entrypoint /opt/numapin/bin/numapin


FROM ${BASE_IMAGE}
COPY --from=packages /opt/numapin /opt/numapin
ENTRYPOINT ["/opt/numapin/entrypoint"]
