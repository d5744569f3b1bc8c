#!/usr/bin/env bash
# Tries the workbook's first commands on machines that have nothing yet: minimal systems of Debian
# 11, 12, 13 and sid with git, make and network. It is run by hand, as root, and takes hours:
#
#   tools/machines.sh FOLDER [MACHINE...]
#
#   12-root        root in /root (0700), with user namespaces: a machine of one's own
#   12-container   root in /root without namespaces, with a container's capabilities
#   12-user        an ordinary user without sudo, whose home is 0700. Each command must print a line
#                  to type, if it misses something; root types it
#   12-noapt       the same where there is no apt-get, so that the line has the names alone
#
# and the same four with 11, 13 and sid. Left out, MACHINE is each of these. On each a clone of this
# repository's last commit does what COMMANDS names; left out, that is "run check book test":
# make run, make check-01 of the solution, make book OPEN= and make test. Debian 11 has no package
# of some Bats libraries, so make test is left out there.
#
# A table has the seconds, the processors' seconds and the size of build/ behind each command. What
# a command leaves outside of the workbook is a fault, too.
#
# FOLDER needs 3 GB, and gets the systems as debootstrap makes them (kept, for the next call), one
# machine at a time, and logs/. KEEP=1 keeps the machines, too. MIRROR is where packages come from.
# The machines share this one's network, kernel and certificates. They mount in a mount namespace
# of their own, which ends with them: nothing has to be unmounted.
# Exit status: 0 every command passed, 1 one did not, 2 nothing could be tried.
set -u

fail() { printf '%s\n' "$@" >&2; exit 2; }
machines=()
for number in 11 12 13 sid; do machines+=("$number"-{root,container,user,noapt}); done
if [ $# = 0 ] || [ ! -d "$1" ]; then
    fail "Name a folder that is there: tools/machines.sh FOLDER [MACHINE...]"
fi
[ "$(id -u)" = 0 ] || fail "Only root can make these machines."
for tool in debootstrap bwrap git; do
    type -P "$tool" >/dev/null ||
        fail "$tool is not installed. Type: apt-get install debootstrap bubblewrap git"
done
folder=$(realpath "$1")
shift
for machine; do
    [[ " ${machines[*]} " == *" $machine "* ]] ||
        fail "There is no machine $machine. The machines are: ${machines[*]}"
done
[ $# = 0 ] || machines=("$@")
repository=$(realpath "${0%/*}/..")
mkdir -p "$folder/logs"

# on COMMAND: runs it on the machine under test, as $user
on() {
    local as=() command="cd && { [ ! -d workbook ] || cd workbook; } && $1"
    if [ "$kind" = container ]; then
        "$repository/tests/grading/attacks/container.sh" "$system" "$command" </dev/null
        return
    fi
    [ "$user" = root ] || as=(setpriv --reuid="$user" --regid="$user" --init-groups)
    # A sandbox on the machine can mount a /proc only where nothing covers a part of this one.
    # shellcheck disable=SC2016  # for the machine's own bash
    bwrap --die-with-parent --unshare-pid --unshare-ipc --unshare-uts --cap-add ALL \
        --bind "$system" / --dev /dev /bin/bash -c 'mount -t proc proc /proc && exec "$@"' machine \
        /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$home" "${as[@]}" \
        /bin/bash -c "$command" </dev/null
}

base() { # base NUMBER: a minimal system, once
    local suite=sid made=$folder/debian-$1
    case $1 in 11) suite=bullseye ;; 12) suite=bookworm ;; 13) suite=trixie ;; esac
    [ ! -e "$made" ] || return 0
    rm -rf --one-file-system "$made.new"
    debootstrap --variant=minbase --include=git,make,ca-certificates "$suite" "$made.new" \
        "${MIRROR:-http://deb.debian.org/debian}" >"$folder/logs/debian-$1.log" 2>&1 ||
        fail "debootstrap failed; see $folder/logs/debian-$1.log"
    # A mirror may be a snapshot, and a network may have certificates of its own.
    echo 'Acquire::Check-Valid-Until "false";' >"$made.new/etc/apt/apt.conf.d/99snapshot"
    cp /etc/resolv.conf "$made.new/etc"
    cp /usr/local/share/ca-certificates/*.crt "$made.new/usr/local/share/ca-certificates" \
        2>/dev/null && chroot "$made.new" update-ca-certificates >/dev/null 2>&1
    chroot "$made.new" useradd --create-home --shell /bin/bash ada
    chmod 700 "$made.new/root" "$made.new/home/ada"
    mv "$made.new" "$made"
}

# as_make COMMAND: prints what is typed for run, check, book, or test
as_make() {
    case $1 in
    check) echo "make check-01 FILE=solutions/01_first_allocation.c" ;;
    book) echo "make book OPEN=" ;;
    *) echo "make $1" ;;
    esac
}

# try COMMAND: runs it, and prints its row
failed=0
try() {
    local log=$folder/logs/$machine-$1.log took result status=0
    on "TIMEFORMAT='%R %U %S'; time $(as_make "$1")" >"$log" 2>&1 || status=$?
    read -r -a took < <(tail -n 1 "$log")
    result=passed
    if [ "$status" != 0 ]; then
        result="status $status, see $log"
        failed=1
    fi
    [ "$1" != test ] || result+=": $(grep -E '^[0-9]+ passed, ' "$log")"
    printf '%-13s %-6s %5.0f s  %5.0f s  %4d MB  %s\n' "$machine" "$1" "${took[0]}" \
        "$(awk '{ print $2 + $3 }' <<<"${took[*]}")" \
        "$(du -sm "$system$home/workbook/build" 2>/dev/null | cut -f 1)" "$result"
}

# Lists what is outside of the workbook where its user can write.
outside() {
    find "$system$home" "$system"/{tmp,var/tmp} -path "$system$home/workbook" -prune -o -print |
        sort
}

# type_the_line COMMAND: finds the line that an ordinary user is asked to type, and types it as
# root; where there is no apt-get, it installs the packages that are named.
type_the_line() {
    local said line names log=$folder/logs/$machine-$1.line.log
    said=$(on "timeout 20 $(as_make "$1")" 2>&1)
    line=$(sed -n 's/^    \(apt-get .*\)/\1/p' <<<"$said" | head -n 1)
    names=$(sed -n "s/^Missing: \(.*\) (these are Debian's names).*/\1/p" <<<"$said" | head -n 1)
    [ -n "$line$names" ] || return 0
    echo "$machine: make $1 misses ${names:-${line##*recommends }}"
    [ -n "$line" ] ||
        line="apt-get.away update && apt-get.away install -y --no-install-recommends $names"
    user=root on "$line" >"$log" 2>&1 || {
        echo "$machine: root typed it; it failed, see $log"
        failed=1
    }
}

printf '%-13s %-6s %7s  %7s  %7s\n' machine make time CPU build/
for machine in "${machines[@]}"; do
    number=${machine%-*} kind=${machine#*-} system=$folder/$machine user=root home=/root
    base "$number"
    rm -rf --one-file-system "$system"
    cp -a "$folder/debian-$number" "$system" || exit 2
    case $kind in
    user | noapt) user=ada home=/home/ada ;;
    esac
    [ "$kind" != noapt ] || mv "$system/usr/bin/apt-get" "$system/usr/bin/apt-get.away"
    git clone -q "$repository" "$system$home/workbook" || exit 2
    [ "$user" = root ] || chown -R --reference="$system$home" "$system$home/workbook"
    before=$(outside)
    for command in ${COMMANDS:-run check book test}; do
        [ "$machine $command" != "11-$kind test" ] || continue
        [ "$user" = root ] || type_the_line "$command"
        try "$command"
    done
    left=$(comm -13 <(echo "$before") <(outside))
    if [ -n "$left" ]; then
        printf '%s\n' "$machine: outside of the workbook is left:" "${left//"$system"/}"
        failed=1
    fi
    [ -n "${KEEP:-}" ] || rm -rf --one-file-system "$system"
done
exit $failed
