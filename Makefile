# Every command that a reader, a student or a teacher needs. `make help` prints the lines here that begin with ##.
SHELL := bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SECONDEXPANSION:
MAKEFLAGS += --no-print-directory
# One goal is built on all cores. Several goals, such as `make 01 04`, run one after the other, or as -j says.
ifeq ($(MAKELEVEL) $(words $(MAKECMDGOALS)) $(filter -j% list program,$(MAKEFLAGS) $(MAKECMDGOALS)),0 1 )
MAKEFLAGS += -j$(shell nproc)
endif
ifeq ($(origin CC),default)
CC := gcc
endif
export CC

LESSONS := $(sort $(basename $(notdir $(wildcard solutions/[0-9][0-9]_*.c tests/lessons/[0-9][0-9]_*.bats))))
SOLUTIONS := $(sort $(basename $(notdir $(wildcard solutions/[0-9][0-9]_*.c))))
NUMBERS := $(sort $(foreach lesson,$(LESSONS),$(firstword $(subst _, ,$(lesson)))))
SHORT := $(patsubst 0%,%,$(filter 0%,$(NUMBERS)))
CASES := $(patsubst docs/clinic/%_wrong.c,%,$(wildcard docs/clinic/[0-9][0-9]_*_wrong.c))
CASE_NUMBERS := $(sort $(foreach case,$(CASES),$(firstword $(subst _, ,$(case)))))
RUNNING := run $(foreach number,$(NUMBERS) $(SHORT),$(number) solution-$(number)) $(CASE_NUMBERS:%=clinic-%) $(CASE_NUMBERS:%=repaired-%)
lesson = $(firstword $(filter $(1)_%,$(LESSONS)))

# BACKEND=simulator or BACKEND=gpu; left out, the best one there. A command that runs programs says which, and why, in its first line.
ifneq ($(filter $(RUNNING),$(MAKECMDGOALS))$(BACKEND),)
BACKEND_AND_WHY := $(shell tests/tools/setup.sh backend "$(BACKEND)")
ifneq ($(.SHELLSTATUS),0)
$(error $(patsubst %.,%,$(BACKEND_AND_WHY)))
endif
endif
DEVICE := $(firstword $(BACKEND_AND_WHY) simulator)
ifneq ($(filter $(RUNNING),$(MAKECMDGOALS)),)
$(info Backend: $(BACKEND_AND_WHY))
endif

include simulator/build.mk
percent := %
# A function that nothing declares is an error, as it is for newer compilers anyway.
FLAGS := -std=c11 -g -Wall -Wextra -Wpedantic -Werror=implicit-function-declaration -Ilessons

## make run           the tour: every lesson's solution, in order
.PHONY: run
run: $(SOLUTIONS:%=build/$(DEVICE)/solutions/%)
	@wrong=; for program in $^; do printf '\n== %s\n' "$${program##*/}"; $$program || [ $$? = 77 ] || wrong="$$wrong $${program##*/}"; done; \
	[ -z "$$wrong" ] || { echo "These ended with another exit status than 0:$$wrong" >&2; exit 1; }

# The longest first, so that no processor is idle at the end.
LONG := $(patsubst %,tests/%.bats,lessons/mutants workbook/solutions workbook/book litmus/litmus workbook/checks)
SUITE := $(LONG) $(filter-out $(LONG),$(wildcard tests/*/*.bats))
## make test          the whole test suite
.PHONY: test
test: $(LIBRARY)
	@$(MAKE) SANITIZE=address,undefined simulator
	@$(MAKE) SANITIZE=thread simulator
	@set -o pipefail; bats --tap --jobs "$$(($$(nproc) + 1))" --no-parallelize-within-files $(SUITE) 2>&1 | awk -f tests/tools/report.awk

## make 06            build and run lessons/06_*.c; ARGS="64" gives it an argument
.PHONY: $(NUMBERS) $(SHORT)
$(NUMBERS): %: build/$(DEVICE)/lessons/$$(call lesson,$$*)
	@$< $(ARGS)
$(SHORT): %: 0%

## make solution-06   the same for its solution; MUTANT=threshold_in_mib puts one mistake into it
.PHONY: $(NUMBERS:%=solution-%) $(SHORT:%=solution-%)
$(NUMBERS:%=solution-%): solution-%: \
		build/$(DEVICE)/$(if $(MUTANT),mutants,solutions)/$$(call lesson,$$*)$(MUTANT:%=/%)
	@$< $(ARGS)
$(SHORT:%=solution-%): solution-%: solution-0%

## make check-06      check lesson 06 on the simulated device: what is right, what is missing, where to read
.PHONY: $(NUMBERS:%=check-%) $(SHORT:%=check-%)
$(NUMBERS:%=check-%): check-%: $(LIBRARY)
	@set -o pipefail; LESSON="$(or $(LESSON),lessons/$(call lesson,$*).c)" \
	bats --tap tests/lessons/$(call lesson,$*).bats 2>&1 | awk -v lesson=$(call lesson,$*) -f tests/tools/report.awk
$(SHORT:%=check-%): check-%: check-0%

## make clinic-03     build and run case 03 of the book's clinic, a broken program
.PHONY: $(CASE_NUMBERS:%=clinic-%)
$(CASE_NUMBERS:%=clinic-%): clinic-%: build/$(DEVICE)/docs/clinic/$$(filter $$*_$$(percent),$(CASES))_wrong
	@$<

## make repaired-03   the same program, repaired
.PHONY: $(CASE_NUMBERS:%=repaired-%)
$(CASE_NUMBERS:%=repaired-%): repaired-%: build/$(DEVICE)/docs/clinic/$$(filter $$*_$$(percent),$(CASES))_right
	@$<

## make watch         check the lesson at work each time that it is saved, and say what is next
## make grade         points for every lesson and a sentence for each miss, in build/grade; also STUDENT=FOLDER OUT=FOLDER ONLY="01 07"
## make grade-class   the same for each folder in CLASS=FOLDER, with one table, in build/class; a second call goes on
.PHONY: watch grade grade-class
watch grade grade-class: $(LIBRARY)
	@tests/tools/$(subst -,_,$@).sh

## make list          the lessons
.PHONY: list
list:
	@printf '%s\n' $(LESSONS)

## make docs          the book, in build/docs/html
.PHONY: docs
docs: build/venv/docs $(LIBRARY)
	build/venv/bin/sphinx-build -q -E -W -n -c . docs build/docs/html

## make simulator     the simulated device alone: build/simulator/libcudart.so.13
.PHONY: simulator
simulator: $(LIBRARY)

## make headers       compile every lesson against the headers of CUDA 12.2, or against those in CUDA_HEADERS="FOLDER..."
.PHONY: headers
headers:
	@tests/tools/headers.sh $(CUDA_HEADERS)

## make bench         what one call costs on the simulated device
.PHONY: bench
bench: $(SIMULATOR)/tests/simulator/bench
	@$< $(ARGS)

## make clean         remove all that was built or fetched: build/
.PHONY: clean
clean:
	rm -rf build

## make help          these lines
.PHONY: help
help:
	@sed -n 's/^## //p' Makefile
	@echo 'BACKEND=simulator or BACKEND=gpu chooses where programs run; left out: the GPU, where one and nvcc are found.'

# ---- How things are built ----

lost = echo "$(1) is not there. If it was renamed or deleted: git checkout -- $(1) brings it back."

# $(call compile,SOURCE,PROGRAM,FOLDER OF include/,LINKED)
define compile
@if [ ! -f "$(1)" ]; then { [ -d "$(1)" ] && echo "$(1) is a folder, not a C file." || $(call lost,$(1)); } >&2; exit 1; fi; \
if IFS= read -r -d '' <"$(1)"; then echo "$(1) holds a NUL byte, which no C file may. Save it as plain text." >&2; exit 1; fi; \
[ -d "$(dir $(2))" ] || mkdir -p "$(dir $(2))"; \
$(CC) $(FLAGS) -Og $(SANITIZER) -isystem $(3)/include "$(1)" -o "$(2).$$$$" $(4) -lm && mv "$(2).$$$$" "$(2)" || \
	{ echo "$(1) does not compile. Begin with the first line above that says error." >&2; exit 1; }
endef
SHARED := lessons/workbook.h lessons/processes.h lessons/kernels.h Makefile

$(SIMULATOR)/%: %.c $(SHARED) $(LIBRARY)
	$(call compile,$<,$@,build/cuda,$(LIBRARY) -pthread -Wl$(comma)-rpath$(comma)'$$ORIGIN/..:$$ORIGIN/../..')

# A mutant is a solution with one mistake, which tests/lessons/mutants/NN_name/MISTAKE.patch makes.
MUTANTS := $(patsubst tests/lessons/mutants/%.patch,%,$(wildcard tests/lessons/mutants/*/*.patch))
.PHONY: mutants mutant-sources
mutants: $(MUTANTS:%=$(SIMULATOR)/mutants/%)
mutant-sources: $(MUTANTS:%=build/mutants/%.c)

build/mutants/%.c: tests/lessons/mutants/%.patch solutions/$$(*D).c
	@type -P patch >/dev/null || { echo "patch is not installed: make test installs it." >&2; exit 1; }; \
	mkdir -p $(@D); \
	patch --quiet --fuzz=0 --reject-file=- --output=$@.$$$$ solutions/$(*D).c $< && \
	mv $@.$$$$ $@ || { rm -f $@.$$$$; echo "$< does not apply to solutions/$(*D).c." >&2; exit 1; }

tests/lessons/mutants/%.patch:
	@[ -e $@ ] || { echo "$@ is not there. The mutants of $(*D) are:" \
	$(notdir $(filter $(*D)/%,$(MUTANTS))) >&2; exit 1; }

# A warning is an error here: a test would not see that of a program built before.
$(SIMULATOR)/mutants/%: private FLAGS += -Werror
$(SIMULATOR)/mutants/%: build/mutants/%.c $(SHARED) $(LIBRARY)
	$(call compile,$<,$@,build/cuda,$(LIBRARY) -pthread -Wl$(comma)-rpath$(comma)'$$ORIGIN/../..')

# Each litmus program NAME, and its incorrect variant NAME_wrong. They are hundreds, so their headers
# are compiled once, nothing is optimized, and a new library does not build them again.
LITMUS := $(SIMULATOR)/tests/litmus
LITMUS_FLAGS = $(FLAGS) -g1 -O0 -pthread $(SANITIZER) -isystem build/cuda/include
LITMUS_LINKED = $(LIBRARY) -Wl$(comma)-rpath$(comma)'$$ORIGIN/../..' -o $@.$$$$ && mv $@.$$$$ $@
$(LITMUS)/litmus.h.gch: tests/litmus/litmus.h $(SHARED) build/cuda/found
	@mkdir -p $(@D) && cp $< $(@D)
	@$(CC) $(LITMUS_FLAGS) -x c-header $< -o $@.$$$$ && mv $@.$$$$ $@

$(LITMUS)/%: tests/litmus/%.c $(LITMUS)/litmus.h.gch | $(LIBRARY)
	@$(CC) $(LITMUS_FLAGS) -include $(LITMUS)/litmus.h $< $(LITMUS_LINKED)

$(LITMUS)/%_wrong: tests/litmus/%.c $(LITMUS)/litmus.h.gch | $(LIBRARY)
	@$(CC) $(LITMUS_FLAGS) -DWRONG -include $(LITMUS)/litmus.h $< $(LITMUS_LINKED)

# A test that looks inside is linked with the simulated device's own parts.
$(SIMULATOR)/tests/simulator/inside_%: tests/simulator/inside_%.c $(SHARED) $(OBJECTS)
	$(call compile,$<,$@,build/cuda,-Isimulator $(OBJECTS) -pthread -ldl)

build/gpu/%: %.c $(SHARED) build/gpu/kernels.o
	$(call compile,$<,$@,build/gpu,build/gpu/kernels.o -Lbuild/gpu/lib -Wl$(comma)-rpath$(comma)'$$ORIGIN/../lib:$$ORIGIN/../../lib' -lcudart -lstdc++)

build/gpu/mutants/%: build/mutants/%.c $(SHARED) build/gpu/kernels.o
	$(call compile,$<,$@,build/gpu,build/gpu/kernels.o -Lbuild/gpu/lib \
		-Wl$(comma)-rpath$(comma)'$$ORIGIN/../../lib' -lcudart -lstdc++)

# One program for the checks, wherever its source lies: LESSON=FILE.c PROGRAM=FILE
.PHONY: program
program:
	$(call compile,$(LESSON),$(PROGRAM),build/cuda,$(LIBRARY))

build/gpu/kernels.o: lessons/kernels.cu lessons/kernels.h build/gpu/nvcc Makefile
	@"$$(cat build/gpu/nvcc)" -O2 -arch=native -Ilessons -c $< -o $@

# These scripts look each time, take milliseconds, and touch their file only when something changed.
build/cuda/found: FORCE
	@tests/tools/setup.sh $(if $(filter test check-% watch grade%,$(MAKECMDGOALS)),test,build)
build/gpu/nvcc: FORCE
	@tests/tools/setup.sh gpu
.PHONY: FORCE

build/venv/docs: docs/requirements.txt
	@tests/tools/setup.sh docs
	@build/venv/bin/python3 -m pip install --quiet --disable-pip-version-check --requirement $< && touch $@

# What is not there
$(LESSONS:%=lessons/%.c) $(LESSONS:%=solutions/%.c):
	@$(call lost,$@) >&2; exit 1
.DEFAULT:
	@printf '%s\n' "make $@: there is no such command or file. make help lists the commands. The lessons are:" $(LESSONS:%='    %') "The cases of the clinic are:" $(CASES:%='    %') >&2; exit 1
