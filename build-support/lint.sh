# shellcheck shell=bash disable=SC2034,SC2154 # dev and its files share variables
# Formatting, static analysis and spelling; every file of a kind, found by its name.

# Files of the checkout by name, NUL-separated; what others wrote is left out.
files_named() { # PATTERN...
	local tests=() pattern
	for pattern; do
		tests+=(-o -name "$pattern")
	done
	find . \( -path './build*' ! -path './build-support*' -o -path ./.git -o -path ./tests/fixtures -o -name corpus \) -prune \
		-o -type f \( "${tests[@]:1}" \) -print0 | LC_ALL=C sort -z
}

shell_files() {
	printf '%s\0' ./dev ./.ci/run
	files_named '*.sh' '*.bash' '*.bats'
}

lint_clang_format() {
	files_named '*.c' '*.h' | xargs -0 clang-format --dry-run -Werror
}

# The sources of a build with clang, NUL-separated: those of other processors aren't in it.
tidy_sources() {
	build-support/tidy-commands.py build/lint
}

clang_tidy() { # ARG...
	xargs -0 -r -n 1 -P "$(nproc)" clang-tidy --quiet --warnings-as-errors='*' "$@" -p build/lint/tidy
}

# The analyzer is most of what linting takes. It follows each function's paths for as many states as that, 225,000 if nothing
# is said; and tests, which are run, not at all.
lint_clang_tidy() {
	local failed=0
	tidy_sources | grep -zv '/tests/' |
		clang_tidy --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=50000 || failed=1
	tidy_sources | grep -z '/tests/' | clang_tidy --checks='-clang-analyzer-*' || failed=1
	return $failed
}

# In the long tier: to the end.
lint_clang_tidy_deep() {
	tidy_sources | clang_tidy
}

lint_shellcheck() {
	shell_files | xargs -0 shellcheck -x
}

lint_shfmt() {
	shell_files | xargs -0 shfmt -d
}

lint_python() {
	files_named '*.py' | xargs -0 pyflakes3
}

lint_spelling() {
	codespell
}

lint_all() {
	local name
	for name in clang_format clang_tidy shellcheck shfmt python spelling; do
		step lint "$name" "lint_$name" || :
	done
}
