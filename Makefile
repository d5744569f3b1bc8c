# Commands for readers, students, teachers and maintainers. `make help` prints the lines that begin
# with ##.
#
## LESSONS    make 01            build and run lesson 01; ARGS="64": an argument
##            make check-01      say what is wrong first; ALL=1: all of it
##            make hint-01       one more hint each time; HINTS=0 starts over
##            make solution-01   run the solution; MUTANT=NAME: with a mistake
##            make picture-01    draw the run; make trace-01: for ui.perfetto.dev
##            make watch         check the lesson each time that it is saved
##            make list          the lessons
##            make run           run every solution, in order: the tour
## CLINIC     make clinic-03     run a broken program
##            make repaired-03   run the repaired one
##            make check-clinic-03 FILE=my.c   judge your repair
## YOUR CODE  make mine FILE=my.cu             run it, and report what is luck
## BOOK       make book          pages, EPUB, PDF (make docs, make epub, make pdf)
## TEACHING   make grade         points and reasons; STUDENT=FOLDER ONLY="1 6"
##            make grade-class   a table of the folders or ZIPs in CLASS=FOLDER
##            make new-lesson NAME=topic; make mutant LESSON=06 NAME=it FILE=my.c
##            make handout OUT=FILE.zip: for students; make gradescope OUT=FILE.zip
## UPKEEP     make test          quick tests; make test-simulator, make test-all
##            make simulator     build it; make bench, make scale: what it costs
##            make gpu           compare with a GPU; make coverage: what tests ran
##            make format        C and Python; make headers: other CUDA headers
##            make live          the device for pages; make release: all to publish
##            make clean         remove build/
## WORDS      BACKEND=simulator or gpu (default: gpu if there is one), DEBUG=1
KNOWN := FILE FLAGS ARGS BACKEND DEBUG ALL HINTS MUTANT OPEN STUDENT CLASS ONLY OUT COURSE ROSTER
KNOWN += SEED SANDBOX JOBS RESUME SSHLOGIN NAME LESSON KIND ABOUT PROGRAM CC CXX RELEASE SANITIZE
KNOWN += CUDA_HOME CUDA_HEADERS SANITIZER TAG
GIVEN := $(foreach name,$(.VARIABLES),$(if $(filter line,$(origin $(name))),$(name)))
# A value is text, in which neither make nor a shell expands anything: recipes have it in their
# environment. Since make 4.4 $(shell) has it, too, so this comes before the first one.
$(foreach name,$(KNOWN),$(if $(filter line environment,$(origin $(name))),\
	$(eval override export $(name) := $$(value $(name)))))

$(foreach name,ALL DEBUG RELEASE RESUME,$(if $(filter 0,$($(name))),\
	$(eval override $(name) :=)))# as if it was left out

# Bash warns each time it starts with an LC_ALL that the machine lacks.
ifneq ($(if $(LC_ALL),$(shell bash -c : 2>&1)),)
.SHELLFLAGS := -u LC_ALL bash -c
endif
SHELL := $(if $(filter bash,$(.SHELLFLAGS)),env,bash)
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# -r: no built-in rules; searching them takes half the time of a make that has nothing to build.
MAKEFLAGS += --no-print-directory -r
# Build a single goal on all cores. Several goals, such as `make 01 04`, run in order unless -j is
# given.
ALONE := $(filter -j% list program,$(MAKEFLAGS) $(MAKECMDGOALS))
ifeq ($(MAKELEVEL) $(words $(MAKECMDGOALS)) $(ALONE),0 1 )
MAKEFLAGS += -j$(shell nproc)
endif
ifeq ($(origin CC),default)
CC := gcc
endif
export CC
# POSIXLY_CORRECT changes how bash and the GNU tools behave, which would break the scripts.
unexport POSIXLY_CORRECT

quoted = '$(subst ','\'',$(1))'# one word of a shell
odd = $(strip $(foreach sign,$(1),$(findstring $(sign),$(2))))
# Reject paths that cannot work: #include cannot quote a ", and the loader and env split at : ; and
# =.
ODD := $(call odd," : ; =,$(CURDIR))
ifneq ($(ODD),)
$(error The path of this folder has the character $(firstword $(ODD)) in it: $(CURDIR). \
	Rename or move it)
endif
# The next lines need make 4.2, which an older make would not say.
ifneq ($(filter 3.% 4.0% 4.1 4.1.%,$(MAKE_VERSION)),)
$(error This is make $(MAKE_VERSION), and the workbook needs 4.2 or later. On macOS use a \
	container, as README.md says)
endif
ifeq ($(wildcard tools/line_end.txt),)
$(error $(CURDIR) is not the folder of the workbook. Name that one: make -C FOLDER)
endif
# CRLF line ends break the shell scripts, so stop early if Git has converted the files.
define PLAIN
plain
plain
endef
ifneq ($(file <tools/line_end.txt),$(PLAIN))
$(error The files here have line ends of Windows, with which no script runs. Clone again with \
	git clone --config core.autocrlf=false)
endif

LESSONS := $(sort $(notdir $(wildcard tests/lessons/[0-9]*_*)))
SOLUTIONS := $(basename $(wildcard solutions/[0-9]*.c))
CASES := $(patsubst docs/clinic/%_wrong.c,%,$(wildcard docs/clinic/*_wrong.c))
number = $(firstword $(subst _, ,$(1)))
short = $(patsubst 0%,%,$(call number,$(1)))
NUMBERS := $(foreach name,$(LESSONS),$(sort $(call number,$(name)) $(call short,$(name))))
CASE_NUMBERS := $(foreach name,$(CASES),$(sort $(call number,$(name)) $(call short,$(name))))
RUNNING := run $(NUMBERS) $(NUMBERS:%=solution-%)
RUNNING += $(CASE_NUMBERS:%=clinic-%) $(CASE_NUMBERS:%=repaired-%)

# A student's copy (make handout) has no solutions, and no command that needs them.
ifeq ($(wildcard solutions),)
ABSENT := $(firstword $(filter run solution-% repaired-% book docs pages epub pdf test test-all \
	test-simulator \
	handout gradescope release new-lesson mutant starters gpu,$(MAKECMDGOALS)))
ifneq ($(ABSENT),)
$(error make $(ABSENT): this copy of the workbook has no solutions and no repaired programs, and \
	its book is already built (book/index.html). make help lists the commands that it has)
endif
endif

# FILES=my.c in place of FILE=my.c would otherwise change nothing, without a word.
UNKNOWN := $(filter-out $(KNOWN),$(GIVEN))
ifneq ($(and $(UNKNOWN),$(filter 0,$(MAKELEVEL))),)
RESEMBLING := $(shell python3 -SB tools/unknown.py variables $(call quoted,$(UNKNOWN)) "$(KNOWN)")
ifneq ($(RESEMBLING),)
$(error $(RESEMBLING))
endif
endif

# A word that is empty (STUDENT="$$name" without a name), or that no command of this call takes,
# would otherwise change nothing, without a word.
define expect_word
ifneq ($(and $(filter 0,$(MAKELEVEL)),$(MAKECMDGOALS),$(filter $(1),$(GIVEN))),)
ifeq ($$(strip $$(value $(1))),)
$$(error $(1)= is empty. Give it a value, or leave it out)
endif
ifeq ($(filter $(2),$(MAKECMDGOALS)),)
$$(error make $(MAKECMDGOALS) does not take $(1)=. These do: $(subst %,01,$(filter-out \
	$(wordlist 2,$(words $(NUMBERS)),$(NUMBERS)),$(2))))
endif
endif
endef
takes = $(foreach word,$(1),$(eval $(call expect_word,$(word),$(2))))
$(call takes,FILE,$(NUMBERS) check-% picture-% trace-% clinic-% mine mutant)
$(call takes,MUTANT,solution-%)
$(call takes,HINTS,hint-%)
$(call takes,STUDENT,grade)
$(call takes,CLASS COURSE ROSTER SSHLOGIN,grade-class)
$(call takes,NAME,new-lesson mutant)
$(call takes,KIND ABOUT,mutant)
$(call takes,LESSON,mutant program)
$(call takes,OUT,grade grade-class handout gradescope release gpu)

# A file's path alone would not be used: make would say of it that there is nothing to be done.
# A word without a point or a slash may be a command of the same name.
PATHS := $(strip $(foreach goal,$(filter-out build/%,$(MAKECMDGOALS)),\
	$(if $(call odd,. /,$(goal)),$(wildcard $(goal)))) $(filter lessons solutions tests tools,\
	$(if $(filter gpu,$(MAKECMDGOALS)),,$(MAKECMDGOALS))))
ifneq ($(and $(filter 0,$(MAKELEVEL)),$(PATHS)),)
$(error make $(MAKECMDGOALS): $(firstword $(PATHS)) is a file or a folder, and no command. \
	make help lists the commands; they take a path as FILE=, STUDENT= or CLASS=)
endif

SANITIZERS := address,undefined address undefined thread
ifneq ($(filter-out $(SANITIZERS),$(SANITIZE)),)
$(error SANITIZE=$(SANITIZE): expected one of $(SANITIZERS))
endif

# BACKEND=simulator or gpu; the default is a GPU if there is one. A command that runs programs says
# in its first line which it chose, and why.
ifneq ($(filter $(RUNNING),$(MAKECMDGOALS))$(BACKEND),)
BACKEND_AND_WHY := $(shell bash tools/setup.sh backend $(call quoted,$(BACKEND)))
ifneq ($(.SHELLSTATUS),0)
$(error $(patsubst %.,%,$(BACKEND_AND_WHY)))
endif
endif
DEVICE := $(firstword $(BACKEND_AND_WHY) simulator)
ifneq ($(filter $(RUNNING),$(MAKECMDGOALS)),)
$(info Backend: $(BACKEND_AND_WHY))
endif

# FILE=mine.c replaces the file of a lesson or of a clinic case; a .cu file is compiled by nvcc. Its
# path, and MUTANT, stand in rules.
SIGNS := " ' ` $$ ; & | < > ( ) { } [ ] * ? \ \# % : =
ifneq ($(or $(filter-out 0 1,$(words $(MUTANT))),$(call odd,$(SIGNS),$(MUTANT))),)
$(error MUTANT=$(MUTANT): expected the name of one mutant)
endif
ifneq ($(and $(FILE),$(filter-out mine,$(MAKECMDGOALS))),)
ifneq ($(subst $(firstword $(FILE)),1,$(FILE))$(call odd,$(SIGNS),$(FILE)),1)
$(error FILE=$(FILE): expected one file, in whose path are no blanks and none of $(SIGNS) Make a \
	link to it: ln -sr $(call quoted,$(FILE)) build/mine.c; then FILE=build/mine.c)
endif
WHY := $(shell source tools/c_file.sh; expect_c_file $(call quoted,$(FILE)) | sed 's/[.]$$//')
ifneq ($(WHY),)
$(error FILE=$(WHY))
endif
ifeq ($(filter %.c %.cu,$(FILE)),)
$(error FILE=$(FILE): this is not a C file (a name ends in .c))
endif
ifneq ($(and $(filter %.cu,$(FILE)),$(filter check-%,$(MAKECMDGOALS))),)
$(error FILE=$(FILE): a check compiles C. `make $(patsubst check-%,%,$(filter \
	check-%,$(MAKECMDGOALS))) FILE=$(FILE)` runs it, and reports what is wrong with its order)
endif
# The path of this folder may have blanks, so a file in it is named from here.
OWN := $(patsubst %.c,%,$(shell realpath -ms --relative-base=. $(call quoted,$(FILE))))
endif

# ---- How programs are compiled ----

# -Werror=implicit-function-declaration: newer compilers reject undeclared functions, so older ones
# must, too.
# -fdebug-prefix-map: reports show paths relative to this folder. The shell expands $PWD, so the
# path may contain any character.
# -gdwarf-4: addr2line before binutils 2.42 can name the wrong file for DWARF 5 (PR 30783).
# -Wno-missing-braces: since CUDA 13.3 a cudaMemLocation contains a union, and gcc warns about the
# correct {type, id}.
C_FLAGS := -std=c11 -gdwarf-4 -Og -Wall -Wextra -Wpedantic -Wno-missing-braces -Ilessons -Isimulator
C_FLAGS += $(if $(DEBUG),-O0) -Werror=implicit-function-declaration -fdebug-prefix-map="$$PWD=."
SHARED := lessons/workbook.h lessons/processes.h lessons/kernels.h lessons/traces/trace.h Makefile
include simulator/build.mk
# The folder of built programs. SANITIZE and DEBUG have their own simulated device, and so their own
# folder.
PROGRAMS := $(if $(filter simulator,$(DEVICE)),$(SIMULATOR),build/$(DEVICE))

# What a program is linked with, for the simulated device and for a GPU. It finds its library from
# where it lies in build/, and from elsewhere.
rpath = -lm -pthread -Xlinker -rpath -Xlinker \
	'$$ORIGIN/..$(1):$$ORIGIN/../..$(1):$$ORIGIN/../../..$(1):'"$$PWD/$(2)"
FOR_SIMULATOR = $(C_FLAGS) $(SANITIZED) -isystem build/cuda/include
ON_SIMULATOR := $(LIBRARY) $(call rpath,,$(SIMULATOR))
FOR_GPU = $(C_FLAGS) -isystem build/gpu/include
ON_GPU := build/gpu/kernels.o -Lbuild/gpu/lib -lcudart -lstdc++ $(call rpath,/lib,build/gpu/lib)

# C programs. compile.sh runs the compiler, and says in a sentence if the file is missing, a folder,
# or binary.
$(SIMULATOR)/%: %.c $(SHARED) $(LIBRARY)
	@bash tools/compile.sh $(CC) $(FOR_SIMULATOR) $< -o $@ $(ON_SIMULATOR)
build/gpu/%: %.c $(SHARED) build/gpu/kernels.o
	@bash tools/compile.sh $(CC) $(FOR_GPU) $< -o $@ $(ON_GPU)

# CUDA programs: nvcc compiles, $(CC) links. For the simulated device nvcc makes only PTX. The
# program keeps the suffix .cu, so that mine.c and mine.cu can coexist.
NVCC_FLAGS := -std=c++20 -g -lineinfo -Xcompiler -gdwarf-4 -Ilessons -Isimulator
$(SIMULATOR)/%.cu: %.cu $(SHARED) $(LIBRARY) $(KERNELS) build/nvcc/nvcc
	@bash tools/compile.sh "$$(cat build/nvcc/nvcc)" $(NVCC_FLAGS) -gencode \
		arch=compute_90,code=compute_90 -c $< -o $@.o
	@$(CC) $@.o -o $@.$$$$ $(SANITIZED) $(ON_SIMULATOR) -lstdc++ && mv $@.$$$$ $@
build/gpu/%.cu: %.cu $(SHARED) build/gpu/kernels.o
	@bash tools/compile.sh "$$(cat build/gpu/nvcc)" $(NVCC_FLAGS) -arch=native -c $< -o $@.o
	@$(CC) $@.o -o $@.$$$$ $(ON_GPU) && mv $@.$$$$ $@

build/gpu/kernels.o: lessons/kernels.cu lessons/kernels.h build/gpu/nvcc Makefile
	@"$$(cat build/gpu/nvcc)" -O2 -arch=native -Ilessons -c $< -o $@.$$$$ && \
		mv $@.$$$$ $@

include tests/build.mk $(if $(findstring live,$(MAKECMDGOALS)),simulator/web.mk)

# FORCE: these scripts run every time, take milliseconds, and touch their target only after a
# change.
asks_for = $(filter $(1),$(MAKECMDGOALS))
build/cuda/found: FORCE | $(if $(call asks_for,handout gradescope release),place) \
		$(if $(call asks_for,mine),own-files)
	@bash tools/setup.sh $(firstword $(if $(call asks_for,test%),suite) \
		$(if $(call asks_for,book docs epub pdf pages handout release),pages) \
		$(call asks_for,grade-class) $(call asks_for,grade) \
		$(if $(call asks_for,check-% watch),check) \
		$(if $(call asks_for,mine picture-% trace-% mutant gradescope coverage bench),write) build)
build/gpu/nvcc: FORCE
	@bash tools/setup.sh gpu
build/nvcc/nvcc: FORCE | build/cuda/found
	@bash tools/setup.sh cuda
build/venv/docs: FORCE | build/cuda/found
	@bash tools/setup.sh docs
.PHONY: FORCE

# If a program fails for lack of a usable GPU or driver, on_gpu.sh says so. Lessons and clinic cases
# are run with reports of leaks, as their checks do.
# Exported, because bash repeats the command line of a program that crashes.
ON_DEVICE := set -f; export SIM_COLUMNS=$${SIM_COLUMNS-100} \
	SIM_CHECK=$${SIM_CHECK-leaks,no-init}; $(if $(filter gpu,$(DEVICE)),bash tools/on_gpu.sh )

# ---- Commands ----

.PHONY: run
run: $(SOLUTIONS:%=$(PROGRAMS)/%)
	@bash tools/tour.sh $^

.PHONY: test test-all test-simulator coverage
test test-all test-simulator: $(LIBRARY) $(KERNELS)
	@bash tools/test.sh $@
coverage: build/cuda/found
	@bash tools/coverage.sh

define goals_of_a_lesson
.PHONY: $(1) solution-$(1) check-$(1) hint-$(1) picture-$(1) trace-$(1)
$(1): $(PROGRAMS)/$(or $(OWN),lessons/$(2))
	@$$(ON_DEVICE)$$< $$$$ARGS || { status=$$$$?; \
		$(if $(OWN),,$(if $(ARGS)$(filter SIM_%,$(.VARIABLES)),[ $$$$status != 2 ] || { echo \
		"Change what the line above names. The lesson's file is not the reason." >&2; exit 2; };) \
		echo "Lesson $(call number,$(2)) is unfinished, so it ended with status" \
		"$$$$status, which make reports below as an error." >&2; \
		echo "Edit lessons/$(2).c. make check-$(call number,$(2)) says what to repair first." \
		>&2;) exit $$$$status; }
solution-$(1): $(PROGRAMS)/$(if $(MUTANT),mutants/$(2)/$(MUTANT),solutions/$(2))
	@$$(ON_DEVICE)$$< $$$$ARGS
check-$(1): $(LIBRARY)
	@bash tools/check.sh $(2) "$$$$FILE"
hint-$(1):
	@bash tools/hint.sh $(2) "$$$$HINTS"
picture-$(1) trace-$(1): %-$(1): $(SIMULATOR)/$(or $(OWN),lessons/$(2))
	@set -f; bash tools/picture.sh $$* $(notdir $(or $(OWN:.cu=),$(2))) $$< $$$$ARGS
endef
$(foreach name,$(LESSONS),$(foreach goal,$(sort $(call number,$(name)) $(call short,$(name))),\
	$(eval $(call goals_of_a_lesson,$(goal),$(name)))))

define goals_of_a_case
.PHONY: clinic-$(1) check-clinic-$(1) repaired-$(1)
clinic-$(1): $(PROGRAMS)/$(or $(OWN),docs/clinic/$(2)_wrong)
	@$$(ON_DEVICE)$$< $$$$ARGS; status=$$$$?; \
		$(if $(OWN),echo "make check-clinic-$(call number,$(2)) FILE=$(FILE) judges it.",echo \
		"Case $(call number,$(2)) is broken. It ended with status $$$$status."; \
		bash tools/check.sh clinic/$(2)) >&2; exit $$$$status
check-clinic-$(1): $(LIBRARY)
	@bash tools/check.sh clinic/$(2) "$$$$FILE"
repaired-$(1): $(PROGRAMS)/repairs/$(2)
	@$$(ON_DEVICE)$$< $$$$ARGS
endef
$(foreach name,$(CASES),$(foreach goal,$(sort $(call number,$(name)) $(call short,$(name))),\
	$(eval $(call goals_of_a_case,$(goal),$(name)))))

.PHONY: mine own-files
own-files: # before anything is built or fetched for them
	@bash tools/mine.sh check "$$FILE"
mine: $(LIBRARY) $(KERNELS) $(if $(filter %.cu,$(FILE)),build/nvcc/nvcc)
	@bash tools/mine.sh $(LIBRARY) "$$FILE" "$$FLAGS" "$$ARGS"

.PHONY: watch grade grade-class
watch: $(LIBRARY)
	@bash tools/watch.sh
grade grade-class: $(LIBRARY)
	@bash tests/grading/grade.sh $(filter class,$(subst -, ,$@))

.PHONY: list
list:
	@printf '%s\n' $(LESSONS)

.PHONY: new-lesson mutant format
new-lesson:
	@bash tools/new_lesson.sh "$$NAME"
mutant: $(LIBRARY)
	@python3 -SB tools/variants.py new "$$LESSON" "$${KIND:-mutant}" "$$NAME" "$$FILE"
format:
	@bash tools/format.sh

# A release is built in a folder of its own, so that it contains no page of an earlier build.
BUILT := $(if $(call asks_for,release),build/release-docs,build/docs)
SPHINX := build/venv/bin/python3 -B -m sphinx -q -W -n -c . -d $(BUILT)/doctrees
# A lock, because two makes must not write the book at the same time.
BOOK_LOCK := exec 9>build/book.lock && { flock -n 9 || \
	{ echo "Another make builds the book. This one waits for it." && flock 9; }; } &&
# Sphinx would put the cover of an earlier build among the pages, too.
EPUB := $(BOOK_LOCK) rm -rf $(BUILT)/epub && $(SPHINX) -b epub docs $(BUILT)/epub && \
	mv $(BUILT)/epub/cuda-memory-pools.epub $(BUILT) && \
	echo "EPUB: $(BUILT)/cuda-memory-pools.epub"
PDF := $(BOOK_LOCK) PYTHONPATH=docs/extensions \
	build/venv/bin/python3 -B -m book.pdf $(BUILT)/html \
	$(BUILT)/cuda-memory-pools.pdf
.PHONY: pages book docs epub pdf
pages: build/venv/docs $(LIBRARY)
	@echo "Building the book: every program on its pages is compiled and run."
	@$(BOOK_LOCK) $(if $(call asks_for,release),rm -rf $(BUILT)/html &&) $(SPHINX) -E docs \
		$(BUILT)/html
docs: pages
	@OPEN= bash tools/open.sh index
book: pages
	@$(EPUB)
	@$(PDF) || true # it printed why; the pages are complete
	@bash tools/open.sh index
epub: pages
	@$(EPUB)
pdf: pages
	@$(PDF)

# The packages that leave this workbook. The book of a student's copy is built separately, without
# solutions, and is copied under the same lock, because another make would remove the book first.
STUDENTS_BOOK := echo "Building the students' book, which shows no solution: some minutes." && \
	$(BOOK_LOCK) rm -rf $(BUILT)/handout && BOOK_HANDOUT=1 $(SPHINX) \
	-d $(BUILT)/handout-doctrees -E docs $(BUILT)/handout
.PHONY: handout gradescope place
place:
	@python3 -SB tools/packages.py place "$$OUT" $(call asks_for,handout gradescope release)
handout gradescope release: place
handout: build/venv/docs $(LIBRARY) $(LESSONS:%=build/starters/%.c)
	@$(STUDENTS_BOOK) && \
		python3 -SB tools/packages.py handout $(BUILT)/handout "$$OUT"
gradescope: $(LESSONS:%=build/starters/%.c)
	@python3 -SB tools/packages.py gradescope "$$OUT"
.PHONY: release
# All files have the time of the commit or, without git, that of CHANGES.md.
ifneq ($(filter release,$(MAKECMDGOALS)),)
export SOURCE_DATE_EPOCH := $(or $(shell git log -1 --format=%ct 2>/dev/null),$(shell \
	stat -c %Y CHANGES.md))
endif
release: pages $(LESSONS:%=build/starters/%.c)
	@$(STUDENTS_BOOK)
	@$(EPUB)
	@$(PDF)
	@python3 -SB tools/packages.py release $(BUILT) "$$OUT"

.PHONY: simulator bench scale
simulator: $(LIBRARY) $(KERNELS)
bench: $(KERNELS) build/kernels/costs.ptx
build/kernels/costs.ptx: simulator/tests/unit/kernels/costs.cu build/nvcc/nvcc
	@mkdir -p $(@D) && "$$(cat build/nvcc/nvcc)" -ptx $< -o $@
bench scale: %: $(SIMULATOR)/simulator/tests/unit/%
	@set -f; $< $$ARGS

.PHONY: headers
headers:
	@bash tools/headers.sh $$CUDA_HEADERS

GPU_PARTS := lessons probes peers walks clinic litmus sanitizer kernels chance questions
.PHONY: gpu
gpu:
	@python3 -SB tools/gpu/record.py $(filter $(GPU_PARTS),$(MAKECMDGOALS))
ifneq ($(filter gpu,$(MAKECMDGOALS)),)
ifneq ($(filter-out gpu $(GPU_PARTS),$(MAKECMDGOALS)),)
$(error make gpu has no part '$(filter-out gpu $(GPU_PARTS),$(MAKECMDGOALS))'. Its parts are \
    $(GPU_PARTS))
endif
.PHONY: $(GPU_PARTS)
$(GPU_PARTS): gpu
	@:
endif

.PHONY: clean
clean:
	rm -rf build

.PHONY: help
help:
	@sed -n 's/^## //p' Makefile

# What exists comes here with make -B.
$(LESSONS:%=lessons/%.c) $(LESSONS:%=solutions/%.c):
	@source tools/c_file.sh; expect_c_file $@ >&2
.DEFAULT:
	@[ -e $(call quoted,$@) ] || \
		python3 -SB tools/unknown.py goal $(call quoted,$(strip $@ $(firstword \
		$(filter $(NUMBERS),$(MAKECMDGOALS))))) "$(LESSONS)" "$(CASES)"
