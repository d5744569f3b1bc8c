#!/usr/bin/env bash
# Runs a command as root in a place like the container of an autograder: container.sh FOLDER COMMAND
#
# FOLDER is the file system of the place. It gets this machine's programs and libraries to read, a
# /tmp, /proc and /dev of its own, and has no namespace for others: who is in a chroot may make no
# user namespace, and root has Docker's usual capabilities, of which CAP_SYS_ADMIN is none. There is
# the network, as in a container while its image is made. `apt-get` does nothing, for what it would
# install is there; `git clone` copies FOLDER/source. The mounts end with the command.
#
# Exit status: the command's; 77 this machine lets nobody make such a place, with the reason.
set -u

# What Docker leaves to root.
capabilities=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap
capabilities+=,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap

fail() { printf '%s\n' "$*"; exit 77; }

inside() { # inside FOLDER COMMAND
    local root=$1 entry device
    if ! mount --bind "$root" "$root" || ! cd "$root"; then fail "mount --bind was refused."; fi
    for entry in /usr /etc /bin /sbin /lib*; do
        if [ -L "$entry" ]; then [ -L "$root$entry" ] || ln -s "$(readlink "$entry")" "$root$entry"
        elif [ -d "$entry" ]; then
            mkdir -p "$root$entry"
            if ! mount --rbind "$entry" "$root$entry" ||
                ! mount -o remount,bind,ro "$root$entry"; then
                fail "$entry could not be mounted."
            fi
        fi
    done
    mkdir -p proc dev tmp stub root
    chmod 1777 tmp
    chmod 700 root
    if ! mount -t proc proc proc || ! mount -t tmpfs -o mode=755 tmpfs dev; then
        fail "no proc, or no tmpfs."
    fi
    for device in null:3 zero:5 full:7 random:8 urandom:9; do
        mknod -m 666 "dev/${device%:*}" c 1 "${device#*:}" || fail "mknod was refused."
    done
    mkdir -m 1777 dev/shm
    ln -s /proc/self/fd dev/fd
    printf '#!/bin/sh\nexit 0\n' >stub/apt-get
    # shellcheck disable=SC2016  # for the script
    printf '%s\n' '#!/bin/sh' '[ "$1" = clone ] || exec /usr/bin/git "$@"' \
        'for folder; do :; done' 'exec cp -a /source "$folder"' >stub/git
    chmod 755 stub stub/*
    exec chroot . /usr/bin/env -i PATH=/stub:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        ONLY="${ONLY:-}" CI_PROJECT_DIR=/builds/student \
        setpriv --bounding-set="$capabilities" /bin/bash -c "$2"
}
if [ "${1:-}" = --inside ]; then inside "$2" "$3"; fi

if [ $# != 2 ] || [ ! -d "$1" ]; then
    echo "Type: container.sh FOLDER COMMAND." >&2
    exit 2
fi
[ "$(id -u)" = 0 ] || fail "only root can make such a place; this is $(id -un)."
unshare --mount --pid --fork true 2>/dev/null || fail "this machine makes no mount namespace."
exec unshare --mount --propagation private --pid --fork --kill-child \
    "$BASH" "$0" --inside "$(realpath "$1")" "$2"
