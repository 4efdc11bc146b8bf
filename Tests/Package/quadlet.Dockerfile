# The generator that makes services of docker/vicinity.container: that of the Podman in Debian 13, since the one in Debian 12 has none.
FROM debian:bookworm-slim
RUN sed -i s/bookworm/trixie/g /etc/apt/sources.list.d/debian.sources \
 && apt-get -q update \
 && cd /tmp && apt-get -q download podman \
 && dpkg-deb --fsys-tarfile podman_*.deb | tar --extract --directory / ./usr/libexec/podman/quadlet \
 && rm -rf /tmp/podman_*.deb /var/lib/apt/lists/*
CMD ["/usr/libexec/podman/quadlet", "-dryrun"]
