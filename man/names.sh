#!/bin/sh
# Lists the names that a manual page stands for: what its NAME section has in front of " - ".
# usage: names.sh PAGE.scd
set -eu
sed -n '/^# NAME$/,/^# [^N]/{/ - /{s/ - .*//;s/,/\n/g;p;}}' "$1" | tr -d ' '
