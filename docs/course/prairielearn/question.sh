#!/usr/bin/env bash
# Writes a question of PrairieLearn for one lesson: question.sh LESSON FOLDER makes
# FOLDER/info.json and FOLDER/question.html, which a course has in questions/NAME. In info.json,
# replace YOUR-REGISTRY by the place of the image (docs/course/Dockerfile).
#
# Exit status 2, with a sentence: there is no such lesson, or nothing was written.
set -u
usage="Type: question.sh LESSON FOLDER, for example question.sh 07 questions/lesson-07."
fail() { printf '%s\n' "$1" >&2; exit 2; }

[[ $# = 2 && $2 ]] || fail "$usage"
folder=$2
name=$(cd "$(dirname "$0")/../../../lessons" && ls -- "$1"_*.c 2>/dev/null)
[[ $1 =~ ^[0-9][0-9]$ && $name ]] || fail "There is no lesson \"$1\" in lessons/. $usage"
for file in info.json question.html; do
    [ ! -e "$folder/$file" ] || fail "$folder/$file exists. Remove it, or name another folder."
done
if ! mkdir -p "$folder" || [ ! -w "$folder" ]; then fail "Nothing can be written to $folder."; fi

title=${name#*_}
title=${title%.c}
# A question keeps its identity when its files are written again: it belongs to the lesson.
id=$(printf 'cuda-memory-pools %s' "$1" | sha1sum)
id=${id:0:8}-${id:8:4}-4${id:13:3}-8${id:17:3}-${id:20:12}

cat >"$folder/info.json" <<EOF
{
    "uuid": "$id",
    "title": "Lesson $1: ${title//_/ }",
    "topic": "Memory pools",
    "tags": ["C", "CUDA"],
    "type": "v3",
    "gradingMethod": "External",
    "externalGradingOptions": {
        "enabled": true,
        "image": "YOUR-REGISTRY/cuda-memory-pools",
        "entrypoint": ["/workbook/docs/course/prairielearn/grade.sh", "$1"],
        "timeout": 120
    }
}
EOF
cat >"$folder/question.html" <<EOF
<pl-question-panel>
  <p>Hand in <code>lessons/$name</code> of the workbook.</p>
  <pl-file-upload file-names="$name"></pl-file-upload>
</pl-question-panel>
<pl-submission-panel>
  <pl-external-grader-results></pl-external-grader-results>
  <pl-file-preview></pl-file-preview>
</pl-submission-panel>
EOF
