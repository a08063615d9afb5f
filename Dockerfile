# The image of Remit contains only the program, which runs as a user without other rights.
#
#   docker build -t remit .
#   docker run -i --rm --user "$(id -u):$(id -g)" -e HOME=/key -v "$HOME/.config/remit:/key/.config/remit" -v "$PWD:/workspace" remit stdio
#
# docs/packages.md has the details: who must own the folder, and where the key of approvals is stored.

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY internal internal
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -ldflags="-s -w" -o /out/remit ./cmd/remit
RUN mkdir /out/workspace

FROM gcr.io/distroless/static-debian12:nonroot
LABEL org.opencontainers.image.title="Remit" \
      org.opencontainers.image.description="A workspace for AI agents that they cannot wreck" \
      org.opencontainers.image.licenses="Apache-2.0" \
      io.modelcontextprotocol.server.name="io.github.example/remit"
COPY LICENSE /LICENSE
COPY --from=build /out/remit /remit
COPY --from=build --chown=65532:65532 /out/workspace /workspace
# The user is a number, because runAsNonRoot of Kubernetes rejects names.
USER 65532:65532
WORKDIR /workspace
VOLUME /workspace
EXPOSE 8722
ENTRYPOINT ["/remit"]
# Other machines can reach this address, so callers need a token ("remit token create"), and a proxy
# must terminate TLS. Without a proxy, publish the port only to this machine
# (-p 127.0.0.1:8722:8722), or start serve with --tls-cert and --tls-key instead.
CMD ["serve", "--addr", "0.0.0.0:8722", "--behind-proxy"]
