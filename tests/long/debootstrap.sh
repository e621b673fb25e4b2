#!/bin/bash
# A bare Debian 12 in a folder, a checkout in a path with a space, and both commands of the README: as
# root with nothing installed, a second time, and as a user without root. TAP on standard output, all
# else in LOGS. Needs root, a mirror of Debian, and 3 GiB of disk.
# usage: debootstrap.sh LOGS
set -eu
cd "$(dirname "$(readlink -f "$0")")/../.."

if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
logs=$(readlink -f "$1")

# Mounts live in a namespace of their own: they are gone with this script, whatever ends it. What
# runs in there has pages to give back: it is told, and waited for, before the folder goes.
if [ -z "${HC_BARE_ROOT:-}" ]; then
	HC_BARE_ROOT=$(mktemp -d "${TMPDIR:-/var/tmp}/hugeclear-bare.XXXXXX")
	export HC_BARE_ROOT
	chmod 755 "$HC_BARE_ROOT"
	trap 'rm -rf --one-file-system "$HC_BARE_ROOT"' EXIT
	set -m
	unshare --mount --propagation private "$0" "$logs" &
	inner=$!
	set +m
	trap 'kill -TERM -- -$inner 2>/dev/null || :' INT TERM HUP
	while :; do
		status=0
		wait $inner || status=$?
		kill -0 -- -$inner 2>/dev/null || exit $status
		sleep 0.2
	done
fi

root=$HC_BARE_ROOT
checkout="/srv/some folder/hugeclear"
nr=0 failed=0

try() { # TITLE CMD...
	local title=$1 log
	shift
	nr=$((nr + 1))
	log=$logs/bare.$nr.log
	if "$@" >"$log" 2>&1; then
		echo "ok $nr - $title"
	else
		echo "not ok $nr - $title"
		tail -n 30 "$log" | sed 's/^/# /'
		failed=1
	fi
}

# The mirror that this machine itself takes Debian 12 from.
mirror() {
	# shellcheck disable=SC2016 # fields of apt
	apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 2>/dev/null | awk '$1 == "bookworm" { print $2; exit }'
}

bare_debian() {
	# A mount point, as / is elsewhere: tests change how its mounts spread.
	mount --bind "$root" "$root"
	debootstrap --variant=minbase bookworm "$root" "$(mirror)"
	# Proxies and the like of this machine; its other sources stay out.
	cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
	rm -f "$root"/etc/apt/apt.conf.d/20packagekit
	cp /etc/resolv.conf /etc/hosts "$root/etc/"
	[ ! -d /usr/local/share/ca-certificates ] || cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	# Locks of the machine, and notes of what to put back on it.
	mount --bind /run "$root/run"
	chroot "$root" useradd --create-home someone
}

check_out() { # OWNER FOLDER
	mkdir -p "$root/$2"
	tar -c --exclude='./build' --exclude='./build-*' --exclude=./.git --exclude=__pycache__ . |
		tar -x -C "$root/$2"
	# What matches build-* and is a source.
	cp -r build-support "$root/$2/"
	chroot "$root" chown -R "$1:" "$2"
}

inside() { # USER FOLDER CMD...
	local user=$1 folder=$2
	shift 2
	# shellcheck disable=SC2016 # for the inner shell
	chroot "$root" setpriv --reuid "$user" --regid "$user" --init-groups env -i \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp CI=true \
		sh -c 'cd "$0" && exec "$@"' "$folder" "$@" </dev/null
}

# Neither package managers nor meson have anything to do: they are not there.
nothing_again() {
	mkdir "$root/away"
	mv "$root/usr/bin/apt-get" "$root/usr/bin/dpkg" "$root/away/"
	find "$root/$checkout/build" -name setup.log -delete
	inside root "$checkout" "$@"
	mv "$root"/away/* "$root/usr/bin/"
	rmdir "$root/away"
	[ -z "$(find "$root/$checkout/build" -name setup.log)" ]
}

counts() { # LOG-NUMBER: the last line of ./dev test
	tail -n 1 "$logs/bare.$1.log" | grep -qxE '[0-9]+ passed, 0 failed, [0-9]+ skipped'
}

try "a bare Debian 12" bare_debian
check_out root "$checkout"
try "./dev bench as root, nothing installed" inside root "$checkout" ./dev bench
try "again: nothing is installed or configured" nothing_again ./dev bench
try "./dev test as root" inside root "$checkout" ./dev test
try "its last line counts" counts $nr
user_checkout="/home/someone/my hugeclear"
check_out someone "$user_checkout"
try "./dev bench without root" inside someone "$user_checkout" ./dev bench
try "./dev test without root" inside someone "$user_checkout" ./dev test
try "its last line counts" counts $nr
echo "1..$nr"
exit $failed
