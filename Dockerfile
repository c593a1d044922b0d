# syntax=docker/dockerfile:1
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    cargo build --release --locked --bin contextd && cp target/release/contextd /usr/local/bin/contextd

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates curl postgresql-client \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/contextd --create-home contextd
COPY --from=build /usr/local/bin/contextd /usr/local/bin/contextd
COPY LICENSE /usr/share/doc/contextd/LICENSE
USER contextd
WORKDIR /var/lib/contextd
ENV CONTEXTD_LISTEN=0.0.0.0:8080 CONTEXTD_LOG_FORMAT=json MIMALLOC_PURGE_DELAY=3 MIMALLOC_ARENA_EAGER_COMMIT=0
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["curl", "-fsS", "http://127.0.0.1:8080/healthz"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["contextd"]
CMD ["serve"]
