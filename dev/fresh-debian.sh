# A fresh Debian in a directory of its own, for scripts that source this file: fresh, its root, and within, which runs a command
# there. Needs root, debootstrap and Debian's mirror; all of it goes when the script ends.

[ "$(id -u)" -eq 0 ] || { echo "$0: a root directory needs root" >&2 && exit 2; }
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $release" | head -n 1)
fresh=$(mktemp -d)
cleanup() {
	# servers that a step which failed has left there
	for process in /proc/[0-9]*; do
		[ "$(readlink "$process/root" 2>/dev/null)" != "$fresh" ] || kill -9 "${process#/proc/}" 2>/dev/null || true
	done
	umount "$fresh/proc" 2>/dev/null || true
	rm -rf --one-file-system "$fresh"
}
trap cleanup EXIT

echo "$0: making a fresh Debian ($release from ${mirror:-its usual mirror})" >&2
# shellcheck disable=SC2086
debootstrap --variant=minbase "$release" "$fresh" ${mirror:-} >"$fresh.log" 2>&1 || { tail "$fresh.log" >&2 && exit 2; }
rm -f "$fresh.log"
# servers run as other users, who must get through
chmod 755 "$fresh"
# it has the network of this machine, so no service of its own may start
printf '#!/bin/sh\nexit 101\n' >"$fresh/usr/sbin/policy-rc.d"
chmod 755 "$fresh/usr/sbin/policy-rc.d"
mount -t proc proc "$fresh/proc"
# what the machine uses to reach mirrors, and whom it trusts besides those that Debian does
for file in /etc/resolv.conf /etc/hosts; do
	[ ! -e "$file" ] || cp -L "$file" "$fresh$file"
done
cp -a /etc/apt/apt.conf.d/. "$fresh/etc/apt/apt.conf.d/" 2>/dev/null || true
mkdir -p "$fresh/usr/local/share/ca-certificates"
cp -a /usr/local/share/ca-certificates/. "$fresh/usr/local/share/ca-certificates/" 2>/dev/null || true

within() {
	chroot "$fresh" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
