#!/usr/bin/env bash
# Grades one student: the check of every lesson, a table, and OUT/grade.json with what is derived
# from it. Or a class: every folder and every ZIP file in CLASS is a student.
#
#   grade.sh           grades one, as these say:
#     STUDENT=FOLDER   the student's files: FOLDER/lessons/NN_name.c or FOLDER/NN_name.c, or in the
#                      one folder below that has such files; or a ZIP file; left out: lessons/
#     OUT=FOLDER       where the grade is written; left out: build/grade
#     ONLY="01 06"     these lessons only
#     JOBS=N           so many checks at a time; left out: one for each processor
#     SEED=N           the checks draw their sizes and orders from it and from the student's file,
#                      so that another file is judged with other ones; left out: 1
#     SEED=draw        a number that no one knows before; grade.json has it
#     RESUME=1         nothing is done when OUT/grade.json grades these very files with these checks
#     SANDBOX=none     a student is graded also where this machine allows no sandbox
#     GRADE_OWN=1      the files are the grader's own, as in the book: where root can become no
#                      other user, they run as root
#
#   grade.sh class            grades every student of a class, several at a time, then writes tables
#   grade.sh class batch I N  grades each N-th student, beginning with number I (from 0), and writes
#                             no table: one task of a job array
#   grade.sh class collect    writes the tables of what is graded
#     CLASS=FOLDER            or the ZIP file with all submissions that Canvas or Moodle gives, or a
#                             folder of these: unpacked into OUT/handed-in (class/unpack.py)
#     OUT=FOLDER (build/class), ONLY="01 06", JOBS=N, SANDBOX=none
#     SEED=N                  left out: one is drawn by the class's first grading, and kept in
#                             OUT/seed
#     SSHLOGIN=HOST,...       grades on these machines; ":" is this one. Each has the workbook,
#                             CLASS and OUT at the same paths
#     COURSE=FILE ROSTER=FILE see class/course.py
#
# A second call for a class grades only what has changed: a student's files, a check, the seed, what
# an interruption has left out, or what could not be graded. A student who cannot be graded has a
# row with the reason, and does not stop the others.
#
# Exit status: 0 the grade is written, with any number of points, or every student has one; 2
# something could not be graded, and a sentence on stderr names it.
#
# The student's files are only read: each is copied to a folder of this grading (lessons.py),
# compiled and run there in a sandbox (tests/grading/sandbox.py). The first line says which sandbox
# this machine allows, and what cannot be promised without one. The results come from what the
# checks print, which no program of a student can reach, and are written when all of those have
# ended.
set -u
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/../../tools/usage.sh"
takes '|class(;batch;[0-9]+;[0-9]+|;collect|;student-there;.*)?' "$@"
caller=$PWD mask=$(umask)
cd "${0%/*}/../.." || exit 2
home=$PWD
export LC_ALL=C.UTF-8   # the compiler's words, and what counts as a letter, are the same everywhere
unset MAKEFLAGS MAKELEVEL MFLAGS LESSON SANITIZE BACKEND CHECK_FOLDER CHECK_COMPILER
type -P python3 >/dev/null || {
    echo "python3 is not installed. make grade installs it." >&2
    exit 2
}
# Without what a person has set up around Python. What it has compiled is kept for the next grading.
python=(python3 -EsS -X pycache_prefix="$home/build/python")
[ $# = 0 ] || exec "${python[@]}" tests/grading/grade_class.py "$caller" "$mask" "${@:2}"
exec "${python[@]}" tests/grading/grade.py "$home" "$caller" "$mask"
