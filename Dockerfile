# syntax=docker/dockerfile:1
# The action's image: a control process that never imports torch, and workers that do. The GPU comes from the runner: with
# "default-runtime": "nvidia" in its /etc/docker/daemon.json; see docs/action.md.

# Pin it by digest for a runner of your own: --build-arg BASE_IMAGE=python:3.12-slim-bookworm@sha256:…
ARG BASE_IMAGE=python:3.12-slim-bookworm
FROM ${BASE_IMAGE}

# pipefail, so that a failure in front of a pipe is seen.
SHELL ["/bin/bash", "-o", "pipefail", "-c"]

# git fetches the target's commit; gcc, since triton compiles a launcher for each kernel; make for `make checkstyle`.
# Versions are those of the base image's release, which the digest pins.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends gcc git libc6-dev make \
 && rm -rf /var/lib/apt/lists/*

# Large and seldom changed, so first. TORCH=torch==2.13.0 is enough for the simulated device.
ARG TORCH="torch>=2.6"
ARG TRITON="triton>=3.4"
# hadolint ignore=DL3013
RUN python3 -m venv /opt/liger-perf \
 && /opt/liger-perf/bin/python -m pip install --no-cache-dir "${TORCH}" "${TRITON}"
ENV PATH="/opt/liger-perf/bin:${PATH}"

# What benchmarks, tests and style checks of a Liger-like repository import.
# hadolint ignore=DL3013
RUN python -m pip install --no-cache-dir \
    datasets matplotlib pandas pytest pytest-xdist ruff seaborn setuptools setuptools-scm transformers wheel

COPY pyproject.toml README.md LICENSE /opt/src/
COPY src /opt/src/src
# hadolint ignore=DL3013
RUN python -m pip install --no-cache-dir "/opt/src[bot,gpu]" \
 && rm -rf /opt/src

# Read by NVIDIA's container runtime: which GPUs, and only what computing needs of the driver.
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    PYTHONUNBUFFERED=1

# No USER: GitHub mounts the workspace and the command files for root, and forbids another user in container actions.
ENTRYPOINT ["liger-perf-action"]
