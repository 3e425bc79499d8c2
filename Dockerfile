# The image of knfleet-controller and knfleet-webhook. test/image holds it to what the programs need.
# JavaScript is the same on every machine: it is made on the one that builds, whatever the image is for.
FROM --platform=$BUILDPLATFORM node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
# No package runs a script of its own, neither here nor later.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY LICENSE releases.lock.json ./
COPY docs ./docs
COPY api ./api
COPY render ./render
COPY installation ./installation
COPY sets ./sets
COPY access ./access
COPY controller ./controller
COPY webhook ./webhook
COPY cmd ./cmd
RUN node cmd/build/build.ts --output /dist
# Every byte is compared with releases.lock.json, when it arrives and once more as it lies.
RUN node cmd/releases.ts --release-dir /releases && node cmd/releases.ts --check --release-dir /releases

# The Node of the machine that the image is for; nothing runs in this stage.
FROM node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS node

# A C library and certificates: no shell, no package manager.
FROM gcr.io/distroless/cc-debian12:nonroot@sha256:9dac0a79194e45a7da0158a9c6da57b217585af0786db3845d1f0ec1a0dd182f
LABEL org.opencontainers.image.title="knfleet" \
      org.opencontainers.image.description="Knative Serving and Eventing on a whole fleet of Kubernetes clusters, driven from one hub" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=build /dist /app
COPY --from=build /releases /var/lib/knfleet/releases
# Else the C library keeps much of what a burst of installs needed, and for each thread apart. With a lower limit than 128 KiB it asks the kernel for
# each piece that arrives, and a start with 200 spokes takes nearly twice as much of the processor.
ENV MALLOC_ARENA_MAX=1 \
    MALLOC_MMAP_THRESHOLD_=131072 \
    MALLOC_TRIM_THRESHOLD_=1048576
USER 65532:65532
WORKDIR /tmp
# V8 lets its young generation grow to 64 MB in a burst of installs. With 2 MB a burst takes half as much memory and no more time. What its first
# compiler makes of a program that waits most of the time is 2 MB that save nothing. Its heap is collected when it has grown by a fifth: else it grows to
# several times what is in use, and what a cluster that lies makes it throw away stays.
ENTRYPOINT ["/usr/local/bin/node", "--max-semi-space-size=2", "--heap-growing-percent=20", "--no-sparkplug", "--disable-sigusr1", "--disable-proto=delete"]
CMD ["/app/knfleet-controller.js"]
