# The image of Remit: the program alone, as a user who may do nothing else.
#
#   docker build -t remit .
#   docker run -i --rm --user "$(id -u):$(id -g)" -e HOME=/key -v "$HOME/.config/remit:/key/.config/remit" -v "$PWD:/workspace" remit stdio
#
# docs/packages.md says more: who must own the folder, where approvals are sealed.

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
# nonroot, as a number: Kubernetes does not believe names (runAsNonRoot).
USER 65532:65532
WORKDIR /workspace
VOLUME /workspace
EXPOSE 8722
ENTRYPOINT ["/remit"]
# Others reach this address, so callers need a token ("remit token create"), and TLS is
# the affair of the proxy in front. Without one: publish to this machine alone
# (-p 127.0.0.1:8722:8722), or give serve --tls-cert and --tls-key instead.
CMD ["serve", "--addr", "0.0.0.0:8722", "--behind-proxy"]
