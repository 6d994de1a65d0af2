#!/bin/sh
# The tests of pages run in a real browser, Debian's Chromium. Installs it where it is missing.
# Where that cannot be done, says why and lets the other tests run: those in the browser are skipped.
set -eu

for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
    if command -v "$name" >/dev/null 2>&1; then
        echo "browser: $name is installed"
        exit 0
    fi
done

if ! command -v apt-get >/dev/null 2>&1; then
    echo "browser: no Chromium, and this machine has no apt-get; tests in the browser are skipped" >&2
    exit 0
fi
run=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1 || ! sudo -n true 2>/dev/null; then
        echo "browser: no Chromium, and only root can install it; tests in the browser are skipped" >&2
        exit 0
    fi
    run="sudo -n"
fi
echo "browser: installing chromium with apt-get"
if ! $run apt-get update -q || ! $run apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core; then
    echo "browser: apt-get could not install chromium, see above; tests in the browser are skipped" >&2
fi
