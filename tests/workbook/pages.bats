#!/usr/bin/env bats
# The sources of the book's pages: what can be seen of them without building it. The rest is in
# book.bats.

load ../suite

@test "every lesson has its page, and every page its lesson" {
    local lesson page
    assert_equal "$(basename -s .rst docs/[0-9][0-9]_*.rst)" "$(lessons)"
    for lesson in $(lessons); do
        grep -qE "^\| ${lesson%%_*} \| \[.*\]\(lessons/$lesson.c\) \| .* \|$" README.md ||
            complain "README.md lacks the row of lessons/$lesson.c in its table of lessons."
        grep -qx "   \* - :doc:.$lesson." docs/index.rst ||
            complain "docs/index.rst lacks the row of $lesson in its table of lessons."
        grep -qx "   $lesson" docs/index.rst ||
            complain "docs/index.rst lacks $lesson in its toctree."
        page=$(sed -n 's|.*page *docs/\([0-9a-z_]*\).*|\1|p' "lessons/$lesson.c")
        [ "$page" = "$lesson" ] || complain "lessons/$lesson.c names the page \"$page\"."
    done
    finish
}

@test "every file that a page names is there" {
    local path named='(^|[^/A-Za-z0-9._-])(lessons|solutions|simulator|tests|docs)/'
    named+='[A-Za-z0-9_./-]*[A-Za-z0-9_]'
    while read -r path; do
        [ -e "$path" ] || [ -e "$path.c" ] ||
            complain "$path is not there: $(grep -lr --include='*.rst' "$path" docs |
                tr '\n' ' ')names it."
    done < <(grep -ohrE --include='*.rst' "$named" docs | sed -E 's/^[^a-z]//' | sort -u)
    finish
}
