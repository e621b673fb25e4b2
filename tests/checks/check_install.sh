#!/bin/bash
# What `meson install` puts down is whole: programs in C and C++ outside of the tree find headers and both
# libraries through pkg-config alone, and run. TAP on standard output.
# usage: check_install.sh BUILD CONSUMER.c
set -eu
build=$1 consumer=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nr=0 failed=0

# One TAP line: whether the command succeeded; what it said where it didn't.
try() { # TITLE CMD...
	local title=$1
	shift
	nr=$((nr + 1))
	if "$@" >"$work/log" 2>&1; then
		echo "ok $nr - $title"
	else
		echo "not ok $nr - $title"
		sed 's/^/# /' "$work/log"
		failed=1
	fi
}

try "meson install" env DESTDIR="$work/to" meson install -C "$build" --no-rebuild

# The folder that pkg-config then takes for /.
PKG_CONFIG_SYSROOT_DIR=$work/to
PKG_CONFIG_LIBDIR=$(dirname "$(find "$work/to" -name hugeclear.pc)")
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR
libraries=$(dirname "$PKG_CONFIG_LIBDIR")
cp "$consumer" "$work/consumer.c"
cp "$consumer" "$work/consumer.cc"
cd "$work"

build_with() { # COMPILER SOURCE shared|static
	local flags words=(--cflags --libs) static=()
	if [ "$3" = static ]; then
		words+=(--static)
		static=(-static)
	fi
	read -ra flags < <(pkg-config "${words[@]}" hugeclear)
	"$1" -Wall -Wextra -Werror "$2" -o "$3" "${static[@]}" "${flags[@]}"
}

tool=$(find "$work/to" -name hugeclear -path '*/bin/*')
try "pkg-config, command and headers are of one version" \
	test "hugeclear $(pkg-config --modversion hugeclear)" = "$("$tool" --version)"
for language in c cc; do
	compiler=gcc
	[ $language = c ] || compiler=g++
	try "$compiler, shared" build_with $compiler consumer.$language shared
	try "$compiler, shared: runs" env LD_LIBRARY_PATH="$libraries" ./shared
	try "$compiler, shared: asks for the versioned library" \
		sh -c 'readelf -d shared | grep -q "NEEDED.*libhugeclear\.so\.0\]"'
	try "$compiler, static" build_with $compiler consumer.$language static
	try "$compiler, static: runs" ./static
done
try "the manual of the command is there" test -n "$(find "$work/to" -path '*/man1/hugeclear.1' -size +0)"
# A dash in a page's text was taken for one more name of it.
try "manual pages are named after functions and commands" \
	test -z "$(find "$work/to" -path '*/man?/*' ! -name '[a-z]*.[1-8]' -o -path '*/man?/*' -name '*[^a-z0-9_.-]*')"
try "links of manual pages lead somewhere" test -z "$(find "$work/to" -xtype l)"

echo "1..$nr"
exit $failed
