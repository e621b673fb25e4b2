# shellcheck shell=bash disable=SC2034,SC2154 # dev and its files share variables
# The builds, each in a folder of its own below build/.

hugeclear=build/release/tool/hugeclear

# The meson options of each build. A new build is a line here.
options_of() { # BUILD
	case $1 in
	# What is measured and what users get.
	release) echo --buildtype=release -Dtests=false ;;
	# As it is released, with its tests.
	gcc) echo --buildtype=release -Ddebug=true ;;
	clang | lint) echo --buildtype=debugoptimized ;;
	# The fuzzers are part of it: they want the same sanitizers. Less optimised it compiles faster than it runs slower.
	asan) echo --buildtype=debugoptimized -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=true ;;
	# The library and its plain tests; run under qemu-user.
	arm64) echo --buildtype=debugoptimized -Dtool=false --cross-file build-support/aarch64-linux-gnu.ini ;;
	tsan) echo --buildtype=debugoptimized -Doptimization=1 -Db_sanitize=thread -Db_lundef=false ;;
	esac
}

compiler_of() { # BUILD
	case $1 in
	release | gcc | arm64) echo gcc ;;
	*) echo clang ;;
	esac
}

# Configures build/BUILD where that wasn't done, or was done with other options or in another
# place; and again where there are new tests, pages or examples: they are found by their names.
configure() { # BUILD
	local build=$1 folder=build/$1 options compiler tools what files
	compiler=$(compiler_of "$build")
	tools=(CC="$compiler")
	read -ra options < <(options_of "$build")
	what="$compiler ${options[*]} in $PWD"
	files=$(find tests man examples -type f | LC_ALL=C sort | cksum)
	{ read -r had_what && read -r had_files; } 2>/dev/null <"$folder/configured" || had_what='' had_files=''
	[ "$what/$files" != "$had_what/$had_files" ] || return 0
	if [ "$what" = "$had_what" ]; then
		options+=(--reconfigure)
	else
		rm -rf "$folder"
	fi
	mkdir -p "$folder"
	# A hundred programs with a sanitizer's run-time in each are linked faster so.
	[ "$compiler" = gcc ] || tools+=(CC_LD=lld)
	if ! env "${tools[@]}" meson setup "$folder" "${options[@]}" >"$folder/setup.log" 2>&1; then
		tail -n 20 "$folder/setup.log" >&2
		printf 'dev: the build %s could not be configured; the whole log is in %s\n' "$build" "$folder/setup.log" >&2
		return 1
	fi
	printf '%s\n' "$what" "$files" >"$folder/configured"
}

# Compiles build/BUILD; quiet where all is well.
compile() { # BUILD
	local folder=build/$1
	if ! ninja -C "$folder" >"$folder/compile.log" 2>&1; then
		grep -v '^\[[0-9]*/[0-9]*\] [^F]' "$folder/compile.log" | tail -n 60 >&2
		printf 'dev: the build %s failed; the whole log is in %s\n' "$1" "$folder/compile.log" >&2
		return 1
	fi
}
