#!/bin/sh
# Lists the files of a folder that match a pattern, one a line, sorted: what the build takes as tests.
# usage: find-sources.sh FOLDER PATTERN
set -eu
find "$1" -maxdepth 1 -name "$2" | LC_ALL=C sort
