#!/bin/sh
# Make ./configure from configure.ac. Needs autoconf, automake, autoconf-archive and pkg-config.
set -eu
cd "$(dirname "$0")"
exec autoreconf --install --warnings=all
