#!/usr/bin/env bats
# What somebody finds who comes for the first time: licenses, two doors to the book, flags for an
# editor, and workflows that give nobody more than they need.

load ../suite

@test "each kind of file has its license, and README names it" {
    run head -n 1 LICENSE
    assert_output "MIT License"
    for name in MIT "CC BY 4.0" CC0; do
        grep -qF "$name" LICENSE || complain "LICENSE lacks $name."
        grep -qF "$name" README.md || complain "README.md lacks $name."
    done
    # Every folder and file that LICENSE names is there.
    while read -r path; do
        compgen -G "$path" >/dev/null || complain "LICENSE names $path, which is not there."
    done < <(grep -oE '(docs|simulator|tests)/[A-Za-z_./*]+[a-z*]' LICENSE)
    finish
}

@test "actions are named by hash, and only the jobs that publish may write" {
    run grep -hnE '^ *-? *uses:' .github/workflows/*.yml
    assert_success
    refute_line --regexp 'uses: *[^ @]+@([^0-9a-f]|.{1,39}( |$))'
    run awk '/^  [a-z]+:$/ { job = $1 } /: write/ { print job, $0 }' .github/workflows/*.yml
    assert_output "$(lines 'publish:       pages: write' 'publish:       id-token: write' \
        'release:       contents: write # the release')"
}

# bats test_tags=long
@test "by compile_flags.txt an editor finds every header, and has nothing to underline" {
    make -s build/cuda/found simulator
    run bash -c "printf '%s\0' lessons/*.c solutions/*.c simulator/*/*.c |
        xargs -0 -n 8 -P 2 clang \$(tr '\n' ' ' <compile_flags.txt) -fsyntax-only"
    assert_output ""
    assert_success
}
