# shellcheck shell=bash disable=SC2034,SC2154 # dev and its files share variables
# Debian packages: what is missing is installed, and said; where nothing is, no package manager is asked.

packages_for() { # PURPOSE...
	local purpose
	for purpose; do
		awk -v purpose="$purpose" '$1 == purpose { print $2 }' build-support/packages
	done
}

missing_packages() { # PACKAGE...
	local installed package
	# It fails where it doesn't know one of them.
	installed=$({ dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || :; } | sed -n 's/^installed //p')
	for package; do
		grep -qxF -e "$package" <<<"$installed" || printf '%s\n' "$package"
	done
}

need_packages() { # PURPOSE...
	if ! command -v dpkg-query >/dev/null; then
		printf 'dev: this is no Debian: whether all that %s needs is there (build-support/packages) is up to you\n' "$*" >&2
		return
	fi
	local wanted missing install
	wanted=$(packages_for "$@")
	# shellcheck disable=SC2086 # names are words
	missing=$(missing_packages $wanted)
	[ -n "$missing" ] || return 0
	# shellcheck disable=SC2206
	install=(apt-get install -y --no-install-recommends $missing)
	if [ "$(id -u)" != 0 ]; then
		printf 'dev: packages are missing, and installing them needs root:\n\n    sudo %s\n\n' "${install[*]}" >&2
		exit 1
	fi
	printf 'installing packages: %s\n' "${missing//$'\n'/ }"
	export DEBIAN_FRONTEND=noninteractive
	mkdir -p build
	if ! { apt-get update && "${install[@]}"; } </dev/null >build/packages.log 2>&1; then
		tail -n 20 build/packages.log >&2
		printf 'dev: the packages could not be installed; the whole log is in build/packages.log\n' >&2
		exit 1
	fi
}
