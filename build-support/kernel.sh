# shellcheck shell=bash # part of dev
# The kernel of the virtual machines in tests/vm: Debian's stock one for clouds, taken out of its package and kept
# below build/. It isn't installed.

kernel_folder=build/vm-kernel

# The package of the version that is current: the name without one depends on it.
kernel_package() {
	apt-cache depends linux-image-cloud-amd64 2>/dev/null | awk '$1 == "Depends:" { print $2; exit }'
}

# Says why where there is none: the tests that want it skip then.
fetch_kernel() {
	[ ! -s "$kernel_folder/vmlinuz" ] || return 0
	[ "$(uname -m)" = x86_64 ] && command -v apt-get >/dev/null || return 0
	local package partial=$kernel_folder.partial
	rm -rf "$partial"
	mkdir -p "$partial"
	package=$(kernel_package)
	if [ -z "$package" ] && [ "$(id -u)" = 0 ]; then
		apt-get update >/dev/null 2>&1 || :
		package=$(kernel_package)
	fi
	if [ -n "$package" ] && (cd "$partial" && apt-get download "$package") >"$partial/log" 2>&1 &&
		dpkg-deb --fsys-tarfile "$partial"/*.deb | tar -x -C "$partial" --wildcards './boot/vmlinuz-*' &&
		mv "$partial"/boot/vmlinuz-* "$partial/vmlinuz"; then
		rm -rf "$kernel_folder"
		rm -r "${partial:?}/boot" "$partial"/*.deb
		mv "$partial" "$kernel_folder"
		printf 'took the kernel of the virtual machines from %s\n' "$package"
	else
		printf 'no kernel for virtual machines: %s could not be downloaded (%s/log)\n' \
			"${package:-linux-image-cloud-amd64}" "$partial"
	fi
}
