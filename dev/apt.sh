#!/bin/sh
# apt-get with the arguments given, which waits while another one holds a lock, as one often does on a machine that was
# just started. Runs it through the command in $as_root, if that is set; gives up after SEALSTONE_APT_WAIT_S seconds.
#
# apt itself waits only for the lock of dpkg (DPkg::Lock::Timeout, from apt 1.9.11 on), silently under -qq, and never for
# those of its lists and archives: these are tried again here.
set -eu

wait_s=${SEALSTONE_APT_WAIT_S:-300}
said=$(mktemp)
trap 'rm -f "$said"' EXIT
begin=$(date +%s)
waiting=
while :; do
	# the messages are looked at below, so in English
	if ${as_root:-} env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=5 "$@" >&2 2>"$said"; then
		cat "$said" >&2
		exit 0
	fi
	held=$(grep -E 'Could not get lock|is another process using it' "$said" | head -n 1) || true
	if [ -z "$held" ] || [ $(($(date +%s) - begin)) -ge "$wait_s" ]; then
		cat "$said" >&2
		exit 100
	fi
	if [ -z "$waiting" ]; then
		echo "setup: another apt is at work (${held#E: }); waiting up to $wait_s seconds for it" >&2
		waiting=yes
	fi
	sleep 1
done
