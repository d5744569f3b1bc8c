# shellcheck shell=bash
# A place for one command that is not trusted, where it sees only what it needs, by bubblewrap.
# Sourced.
#     sandbox run|compile [ARGUMENT OF BWRAP...] -- COMMAND
# sets box to the words of a command, to be run with an empty environment (exec -c, or env -i).
#
# The command has namespaces of its own: no process but its own, no network, no capability, an empty
# /tmp and /dev/shm in memory with a limit, and of /dev only null. When it ends, or whoever called
# this, every process in there ends. It has no environment; --setenv gives it one.
#   compile  sees the machine's programs, libraries and headers (/usr)
#   run      sees what the folder CHECK_SEEN has, each file at its place: CHECK_SEEN/lib is /lib
# The arguments of bwrap add what else it sees, such as --ro-bind FILE FILE. Of a workbook in a
# folder of those, as in /usr, it sees no more either; root is the workbook's folder.
#
# CHECK_SANDBOX is how the namespaces are made, which depends on what the machine allows:
#   user    by the user who calls this, with a user namespace
#   number  by the user with the number CHECK_USER, who is no person, for root
#   root    by root; the command then runs as that user
# tests/grading/protect.py tries which of them work.

sandbox() {
    local purpose=$1 temporary=67108864 own=() inside=() before=() seen=() folder
    local as_number=(setpriv --reuid="${CHECK_USER:-}" --regid="${CHECK_USER:-}" --clear-groups)
    local -A made=()
    shift
    hash bwrap   # where it is: the environment will be empty
    case $CHECK_SANDBOX in
    user) own=(--unshare-user --disable-userns) ;;
    number) own=(--unshare-user --disable-userns) before=("${as_number[@]}") ;;
    root)
        # What it may do as root it needs to become another user, and then has no more.
        own=(--cap-add CAP_SETUID --cap-add CAP_SETGID --cap-add CAP_SETPCAP)
        inside=("${as_number[@]}" --inh-caps=-all --bounding-set=-all --no-new-privs) ;;
    esac
    if [ "$purpose" = compile ]; then
        temporary=268435456   # the compiler's own files
        seen=(--ro-bind /usr /usr)
        made[/usr]=1
        for folder in /bin /sbin /lib*; do
            # A link into /usr, except where the system is of the older kind.
            if [ "$folder" -ef "/usr$folder" ]; then seen+=(--symlink "usr$folder" "$folder")
            else seen+=(--ro-bind "$folder" "$folder"); fi
        done
        sandbox_folders /etc/alternatives
        seen+=(--ro-bind-try /etc/alternatives /etc/alternatives)   # awk is a link into it
    else
        for folder in "$CHECK_SEEN"/*; do
            seen+=(--ro-bind "$folder" "/${folder##*/}")
            made[/${folder##*/}]=1
        done
    fi
    # shellcheck disable=SC2154  # the caller has it
    folder=${root#/}
    [ -z "${made[/${folder%%/*}]:-}" ] || seen+=(--tmpfs "$root")
    while [ "$1" != -- ]; do
        case $1 in --bind | --ro-bind | --ro-bind-try) sandbox_folders "$3" ;; esac
        seen+=("$1")
        shift
    done
    shift
    # shellcheck disable=SC2034  # for the caller
    box=("${before[@]}" "${BASH_CMDS[bwrap]}" --unshare-pid --unshare-net --unshare-ipc
        --unshare-uts --unshare-cgroup-try --die-with-parent --new-session --cap-drop ALL
        "${own[@]}" --clearenv --proc /proc --perms 0755 --dir /dev --dev-bind /dev/null /dev/null
        --perms 1777 --size 67108864 --tmpfs /dev/shm
        --perms 1777 --size "$temporary" --tmpfs /tmp
        "${seen[@]}" --remount-ro / -- "${inside[@]}" "$@")
}

# sandbox_failed WORDS: a sentence about a sandbox that could not be made, of which the machine said
# no more than these words.
sandbox_failed() {
    if [ -n "$1" ]; then echo "The sandbox could not be made: $1"
    else echo "The sandbox could not be made, and nothing said why: was the machine very busy," \
        "or a process of it killed? Grade again."; fi
}

# The folders above what is seen: bwrap would make them for the user alone who calls it.
sandbox_folders() {
    local folder=${1%/*}
    if [ -n "$folder" ] && [ -z "${made[$folder]:-}" ]; then
        made[$folder]=1
        sandbox_folders "$folder"
        seen+=(--perms 0755 --dir "$folder")
    fi
}
