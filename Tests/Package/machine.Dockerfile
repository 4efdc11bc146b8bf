# A minimal Debian with systemd, and the packages that apt would download for WANTED, since the machine is on no network.
FROM debian:bookworm-slim
RUN apt-get -q update \
 && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends systemd systemd-sysv dbus \
 && rm /usr/sbin/policy-rc.d
ARG WANTED
RUN apt-get -q satisfy -y --download-only "$WANTED"
STOPSIGNAL SIGRTMIN+3
CMD ["/sbin/init"]
