#!/usr/bin/env bash
# Runs a command as root in a place like the container of an autograder: container.sh FOLDER COMMAND
#
# FOLDER is the file system of the place. If it has none of its own, it gets this machine's programs
# and libraries to read; then `apt-get` does nothing, for what it would install is there, and `git
# clone` copies FOLDER/source. The place has a /proc and a /dev of its own, and no namespace for
# others: who is in a chroot may make no user namespace, and root has Docker's usual capabilities,
# of which CAP_SYS_ADMIN is none. There is the network, as in a container while its image is made.
# All that the command has started ends with it.
#
# Exit status: the command's; another one, with the reason, where this machine lets nobody make such
# a place.
set -u

# What Docker leaves to root.
capabilities=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap
capabilities+=,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap

if [ $# != 2 ] || [ ! -d "$1" ]; then
    echo "Type: container.sh FOLDER COMMAND." >&2
    exit 2
fi
[ "$(id -u)" = 0 ] || { echo "Only root can make such a place; this is $(id -un)."; exit 77; }
root=$(realpath "$1") seen=()
if [ ! -e "$root/usr/bin/env" ]; then
    for entry in /usr /etc /bin /sbin /lib*; do
        if [ -L "$entry" ]; then ln -sfT "$(readlink "$entry")" "$root$entry"
        else seen+=(--ro-bind "$entry" "$root$entry"); fi
    done
    mkdir -p "$root"/{tmp,stub,root}
    chmod 1777 "$root/tmp"
    chmod 700 "$root/root"
    printf '#!/bin/sh\nexit 0\n' >"$root/stub/apt-get"
    # shellcheck disable=SC2016  # for the script
    printf '%s\n' '#!/bin/sh' '[ "$1" = clone ] || exec /usr/bin/git "$@"' \
        'for folder; do :; done' 'exec cp -a /source "$folder"' >"$root/stub/git"
    chmod 755 "$root"/stub{,/*}
fi
exec bwrap --die-with-parent --unshare-pid --cap-add ALL --dev-bind / / --bind "$root" "$root" \
    "${seen[@]}" --proc "$root/proc" --dev "$root/dev" chroot "$root" \
    /usr/bin/env -i PATH=/stub:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    ONLY="${ONLY:-}" CI_PROJECT_DIR=/builds/student \
    setpriv --bounding-set="$capabilities" /bin/bash -c "$2"
