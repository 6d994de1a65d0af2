#!/bin/sh
# Open3D (FPFH in heatfield_bench.baselines and in the benchmarks) needs a few libraries of the system.
# Installs those that are missing, and nothing else; does nothing where all are there.
set -eu

# Debian package, and the library in it.
wanted="libusb-1.0-0:libusb-1.0.so.0 libgl1:libGL.so.1 libgomp1:libgomp.so.1 libegl1:libEGL.so.1"

if [ "$(uname -s)" != "Linux" ]; then
    echo "system packages: not Linux, nothing to do"
    exit 0
fi

has() {
    if command -v dpkg-query >/dev/null 2>&1; then
        [ "$(dpkg-query -W -f='${Status}' "${1%%:*}" 2>/dev/null || true)" = "install ok installed" ]
    else # another distribution: ask the loader for the library itself
        PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null | grep -qF "${1#*:} "
    fi
}

missing=""
for entry in $wanted; do
    has "$entry" || missing="$missing ${entry%%:*}"
done

if [ -z "$missing" ]; then
    echo "system packages: all installed"
    exit 0
fi

if ! command -v apt-get >/dev/null 2>&1; then
    echo "system packages: Open3D needs$missing, and this machine has no apt-get." >&2
    echo "Install the same libraries with the system's own package manager, or run" >&2
    echo "python -m benchmarks.speed as it is: it reports Open3D as not loadable and measures the rest." >&2
    exit 1
fi

run=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "system packages: missing$missing; only root can install them, and there is no sudo." >&2
        echo "Ask an administrator for: apt-get install$missing" >&2
        exit 1
    fi
    run="sudo"
fi

echo "system packages: installing$missing with apt-get (needed by Open3D)"
# shellcheck disable=SC2086  # the names are meant to be split
if ! $run apt-get update -q || ! $run apt-get install -y -q --no-install-recommends $missing; then
    echo "system packages: apt-get could not install$missing; see its messages above." >&2
    exit 1
fi
echo "system packages: installed$missing"
