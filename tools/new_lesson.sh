#!/usr/bin/env bash
# Makes the files of a lesson that begins here: new_lesson.sh my_topic
#
# They compile, the check of the starter misses, that of the solution passes, and one mutant fails
# in its words. The last lines list what is still to be written, and the tests that report it.
set -eu
cd "$(dirname "$0")/.."

LC_ALL=C   # [a-z] has no letter but these
[[ $# = 1 && $1 =~ ^[a-z][a-z0-9_]*$ ]] || {
    echo "make new-lesson: give NAME=my_topic, in small letters, digits and underscores." >&2
    exit 2
}
exec {lock}<lessons && flock "$lock"   # two at once get a number each
last=$(basename -a solutions/[0-9][0-9]_*.c | sort | tail -n 1)
number=$(printf '%02d' $((10#${last%%_*} + 1)))
name=${number}_$1
title="$number $(sed 's/_/ /g; s/^./\U&/' <<<"$1")"
same=$(compgen -G "lessons/[0-9][0-9]_$1.c") && {
    echo "make new-lesson: there is a lesson of that name: $same" >&2
    exit 1
}
# The heading's line that names the page must fit in 100 columns.
[ ${#1} -le 24 ] || {
    echo "make new-lesson: $1 has ${#1} characters. The name of a lesson has at most 24." >&2
    exit 1
}
# shellcheck source=tools/c_file.sh
source tools/c_file.sh
expect_room lessons solutions docs tests/lessons >&2 || exit 1

# program STATEMENT: prints the lesson's program, with this where the student's part is
program() {
    cat <<END
/* $title
 *
 * Question: in a sentence or two, without its answer.
 * Task (fill): what the student has to do.
 * Calls: the CUDA calls that the student writes, with their parameters
 * Run:   make $number          Check: make check-$number          Page: docs/$name
 */
#include "kernels.h"
#include "workbook.h"

int main(int argc, char **argv)
{
    size_t bytes = mib_argument(argc, argv, 1) * MiB, count = bytes / sizeof(int);
    int *data, value = 0;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocAsync((void **)&data, bytes, stream));
    CHECK(launch_fill(data, 40, count, stream));
    /* YOUR WORK. */
$1    CHECK(cudaMemcpyAsync(&value, data, sizeof value, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    printf("the first element is %d\n", value);
    return value == 42 ? 0 : 1;
}
END
}
added='    CHECK(launch_add(data, 2, count, stream));'$'\n'
program "" >"lessons/$name.c"
program "$added" >"solutions/$name.c"

room=tests/lessons/$name
mkdir -p "$room/expected"
cat >"$room/manifest.ini" <<END
# What the workbook knows about this lesson. tests/grading/manifest.py explains each word.
[lesson]
title = ${title#* }
part = An allocator of your own
belief = something false
question = A question, in a sentence?
truth = What is true in place of that belief.
minutes = 20
level = core
kind = fill
END
cat >"$room/check.py" <<END
"""Lesson $number: what its check requires."""

from check import miss


def test_added(check):
    calls = check.run().journal.ok("launch_fill", "launch_add")
    if len(calls) < 2 or len(set(calls.column("stream"))) > 1:
        found = [(x["call"], x["stream"]) for x in calls]
        miss(f"""the memory is filled and then added to, in one stream (YOUR WORK).
            Happened: the calls and streams were {found}.""")


def test_output(check):
    check.after()
    check.expect_right(check.run())
END
cat >"$room/rules.bats" <<END
#!/usr/bin/env bats
# The rules of lesson $number: their functions are in check.py, and grading/rules.bash runs them.

load ../../grading/rules

@test "what was filled is added to, in the same stream" { rule added; }
@test "it prints what a device prints" { rule output; }
END
# The author expects this output until make gpu has recorded a device's.
echo "the first element is 42" >"$room/expected/output.txt"
python3 -SB tools/variants.py starters "$name"
cat >>"$room/variants.txt" <<END

== mutant other_stream: Adds in the legacy stream, which a non-blocking stream does not wait for.
misses added: in one stream (YOUR WORK)
- ${added%$'\n'}
+ ${added/, stream/, cudaStreamLegacy}
== style added_twice: Adds one twice.
- ${added%$'\n'}
+ ${added/2, count/1, count}+ ${added/2, count/1, count}
END

{
    printf '%s\n%s\n\n' "$title" "${title//?/=}"
    cat <<END
*About 20 minutes. Comes after* :doc:\`model\`.

A program, and its trouble: what it costs somebody who has it. The code comes in pieces:

.. literalinclude:: ../lessons/$name.c
   :start-at: CHECK(launch_fill
   :end-at: YOUR WORK
   :dedent: 4

.. picture:: order solutions/$name
   :title: the point of the picture, in a sentence

.. predict:: What is the first element?
   :kind: 40 / 42
   :fields:
      | first element is (\d+)
   :why: Why it is so.

A heading that says what happens
--------------------------------

.. until-answered::

.. run:: solutions/$name

What the output says, in its order.

**The rule.** What is true in place of what the program's author believed.

.. evidence::
   :measured: what the run shows
      (:path:\`$room/expected/output.txt\`)

.. stepper:: starters/$name

Your turn
---------

What is to be done.

.. collected:: done-when

.. dropdown:: Hint 1

   A hint.

.. dropdown:: Hint 2

   A hint.

.. dropdown:: Hint 3

   A hint.

.. source:: solution $name

.. source:: whole lessons/$name
END
} | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >"docs/$name.rst"

python3 -SB tests/grading/manifest.py readme
sed -i "s/^   ${last%.c}$/&\n   $name/" docs/index.rst

cat <<END
These files were created. They compile, and make check-$number judges them:
    lessons/$name.c  solutions/$name.c  docs/$name.rst
    $room/: its manifest, the rules of its check, their functions, the
        expected output, and the variants, which are the starter, a mutant and a style
README.md and the toctree of docs/index.rst name it, behind ${last%.c}. When its manifest has
another title or part, make format writes README.md again, and its line in docs/index.rst moves.
Still to write:
    what the lesson is about, in each of them
    a mutant for each mistake that a student is likely to make: make mutant LESSON=$number
        NAME=my_mistake FILE=mine.c
    @met_by_starter above each rule of the check that the starter meets, which gives no point
    the expected output as a GPU prints it: make gpu
What is still missing is reported by:
    bats $room
    TEST_LONG=1 bats tests/{grading/checks,grading/mutants,book/solutions,book/decisions}.bats
    bats tests/book/{book,pages,questions,prose,format}.bats
END
