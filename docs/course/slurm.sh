#!/usr/bin/env bash
#SBATCH --job-name=grade
#SBATCH --array=0-19
#SBATCH --cpus-per-task=2
#SBATCH --time=02:00:00
#SBATCH --output=grade-%A-%a.log
# Grades a class as a Slurm job array: each task grades every 20th student. The workbook, CLASS and
# OUT are on a file system that all nodes share. In the workbook's folder:
#
#   make simulator
#   export CLASS=/home/prof/handed-in OUT=/home/prof/grades
#   job=$(sbatch --parsable docs/course/slurm.sh)
#   sbatch --dependency=afterany:"$job" --wrap "tests/grading/grade.sh class collect"
#
# The first task draws the seed of all, OUT/seed. If a task was canceled, type the same commands
# again: they grade only what has no grade yet.
if [ $# != 0 ]; then
    echo "slurm.sh takes no words." >&2
    exit 2
fi
JOBS=${SLURM_CPUS_PER_TASK:-1} exec tests/grading/grade.sh class batch \
    "$((SLURM_ARRAY_TASK_ID - SLURM_ARRAY_TASK_MIN))" "$SLURM_ARRAY_TASK_COUNT"
