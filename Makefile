# make            release build, ./dcode
# make V=asan     the same with AddressSanitizer and UBSan, build/asan/dcode
# make help       every target
V       ?= release
Q       ?= @
B       ?= build/$(V)
# clang for the sanitizers, because the fuzzers link the same objects
CC      := $(if $(filter default,$(origin CC)),$(if $(filter asan,$(V)),clang,gcc),$(CC))
PKGS    := libcjson libprotobuf-c libsodium libutf8proc sqlite3
HEADERS := libcurl libarchive md4c libxml-2.0 yaml-0.1 # headers only: loaded at run time

# Names what the goals need and is missing, before anything is built.
NO_BUILD := help clean uninstall check check-sdk demo soak lint format quick form-checks
ifneq ($(if $(MAKECMDGOALS),$(filter-out $(NO_BUILD),$(MAKECMDGOALS)),all),)
TESTING := $(filter unit units quick-units threaded fuzz fuzzers bench e2e,$(MAKECMDGOALS))
PROGRAM  = $(if $(shell command -v $(1)),,$(2))
MISSING := $(strip $(foreach p,$(PKGS) $(HEADERS) $(if $(filter unit units quick-units threaded,$(TESTING)),cmocka),\
               $(shell pkg-config --exists $(p) || echo $(p))) \
             $(call PROGRAM,protoc-c,protoc-c) \
             $(call PROGRAM,$(firstword $(CC)),$(firstword $(CC))))
ifneq ($(MISSING),)
$(error missing: $(MISSING). On Debian run: ./scripts/install-deps$(if $(TESTING), test))
endif
endif

WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wformat=2 -Wstrict-prototypes \
           -Wmissing-prototypes -Wvla -Wundef -Werror
VERSION := 0.2.0
# Messages that are too long are cut on purpose: see error.h.
WARN    += $(if $(findstring clang,$(CC)),,-Wno-format-truncation)
DEFS    := -DDCODE_VERSION=\"$(VERSION)\" -D_GNU_SOURCE -Isrc -I. -I$(B)/gen
OPT_release := -O2 -g -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE
LNK_release := -pie -Wl,-z,relro,-z,now
SAN_asan    := $(if $(findstring clang,$(CC)),-fsanitize=fuzzer-no-link) \
               -fsanitize=address,undefined -fno-sanitize-recover=all
SAN_tsan    := -fsanitize=thread
SAN_cov     := --coverage
OPT_asan    := -O1 -g1 -fno-omit-frame-pointer $(SAN_asan)
OPT_tsan    := -O1 -g1 -fno-omit-frame-pointer $(SAN_tsan)
OPT_cov     := -O0 -g $(SAN_cov)
LNK_asan    := $(SAN_asan)
LNK_tsan    := $(SAN_tsan)
LNK_cov     := $(SAN_cov)
CFLAGS  ?=
ALL_CFLAGS := -std=c11 $(WARN) $(DEFS) $(OPT_$(V)) \
              $(shell pkg-config --cflags $(PKGS) $(HEADERS)) -pthread $(CFLAGS)
LIBS    := -Wl,--as-needed $(shell pkg-config --libs $(PKGS)) -ldl -pthread
# A release links libsodium, sqlite3, libprotobuf-c and libutf8proc statically if
# the system has their archives, because each shared library makes the start
# slower, and also the loading of libcurl. STATIC= links them dynamically.
STATIC  ?= $(if $(filter release,$(V)),libsodium sqlite3 libprotobuf-c libutf8proc)
ARCHIVE  = $(wildcard $(shell pkg-config --variable=libdir $(1))/$(2))
ARCHIVES := $(if $(filter libsodium,$(STATIC)),$(call ARCHIVE,libsodium,libsodium.a)) \
            $(if $(filter sqlite3,$(STATIC)),$(call ARCHIVE,sqlite3,libsqlite3.a)) \
            $(if $(filter libprotobuf-c,$(STATIC)),$(call ARCHIVE,libprotobuf-c,libprotobuf-c.a)) \
            $(if $(filter libutf8proc,$(STATIC)),$(call ARCHIVE,libutf8proc,libutf8proc.a))

LIB_SRC := $(sort $(filter-out providers/examples/%,$(wildcard src/*/*.c src/*/*/*.c config/*.c providers/*.c providers/*/*.c cmd/*/*.c)) $(filter-out cmd/main.c,$(wildcard cmd/*.c)))
CMD_SRC := cmd/main.c
SCRIPTS := $(sort $(wildcard scripts/sandbox/*.sh scripts/host/*.py))
MANUAL  := $(sort $(wildcard cmd/manual/*.md))
PROTOS  := $(sort $(wildcard providers/*/*.proto))
GEN     := $(SCRIPTS:%=$(B)/gen/%.inc) $(B)/gen/cmd/manual.inc $(PROTOS:%.proto=$(B)/gen/%.pb-c.h)
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o) $(PROTOS:%.proto=$(B)/%.pb-c.o)
CMD_OBJ := $(CMD_SRC:%.c=$(B)/%.o)
UNITS   := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(sort $(wildcard tests/unit/*_test.c)))
# Unit programs that can start a thread. ThreadSanitizer runs only these. A program
# belongs here if it, or a part of libdcode.a that it links, calls pthread_create:
# `make threaded` compares the lists with what was linked. VENDORS are found by
# their #include. Two parts are linked into many programs that do not use them: the
# background work of a sandbox, and the wait for a child without a pidfd. LINKED
# are the programs with no other threads; the test `background` runs these two.
VENDORS  := $(patsubst tests/unit/%_test.c,%,$(shell grep -lE '"cloud_(box|files).h"' tests/unit/*_test.c))
THREADED := $(VENDORS) aws background choose choose_vertex contract \
            kills docker_life docker_pull await docker docker_top ending eventq \
            files_local grpc held history http_error http_fault http_provider http \
            jobs keep keepalive kept lifecycle local_isolation local mask modal \
            model_faults model none oauth_net long_history provider_process reach registry stream \
            supervise_life supervise tools_real web_address worker ws_node ws \
            ws_torture
LINKED   := allow_list apply_history ask_risk ask_user body cache_key cap capture compaction \
            docker_bind docker_frames effort evict execute failure failure_stream fetch \
            fetch_lie files files_find files_hostile files_target git grants hooks html journal \
            lease matches mcp media numbering odb patch plain price proc proc_run pylist \
            read_text rewrite sandbox scan secrets select select_read select_secret send \
            settings setup setup_foreign slurm stat_cache todos tool toolargs \
            transcript transfer tree_watch turn ws_handshake
# Unit programs that take at least a second under ASan, the longest first: in this
# order `make unit` starts them. `make quick` leaves them out. Measured
# 2026-11-22; the end of `make unit` names the slowest.
SLOW     := provider_process supervise held fetch apply_history $(VENDORS) docker \
            lifecycle scan send supervise_life diffview docker_life contract local \
            none files model_faults stat_cache ws files_find ws_node archive grpc \
            thread_file setup docker_pull history event_stream select markdown fetch_lie \
            tools_real files_target transfer git http_fault files_hostile local_isolation \
            path keep vault ws_frame ws_torture proc_run
UNIT_OF  = $(1:%=$(B)/tests/unit/%_test)
QUICK   := $(filter-out $(call UNIT_OF,$(SLOW)),$(UNITS))
# SAMPLE="SEED N": run one in N of the threaded programs under ThreadSanitizer, or
# of the slow programs in other builds.
SAMPLE  ?=
SAMPLED  = $(if $(SAMPLE),$(shell printf '%s\n' $(1) | sh tests/sample.sh $(SAMPLE)),$(1))
ifeq ($(V),tsan)
UNITS   := $(call UNIT_OF,$(call SAMPLED,$(THREADED)))
RUN     := $(UNITS)
else
RUN     := $(filter-out $(call UNIT_OF,$(filter-out $(call SAMPLED,$(SLOW)),$(SLOW))),$(UNITS))
endif
# End-to-end tests for make quick: a few of each kind, seconds in all.
SMOKE   := $(addprefix tests/e2e/test_,readme.py config.py task.py chat.py) \
           -k 'not (light or hung or never_ends or nobody_reads)'
FORM    := layers exports sizes functions heads banned words messages tags \
           format shell python headers
BENCH   := $(addprefix $(B)/tests/bench/,harness empty bare_post bare_chat raw_reader)
FUZZERS := $(patsubst tests/fuzz/%.c,$(B)/tests/fuzz/%,$(sort $(wildcard tests/fuzz/*_fuzz.c)))

DOCS    := $(addprefix $(B)/docs/,dcode.bash _dcode dcode.fish)

all: $(if $(filter build/release,$(B)),dcode docs,$(B)/dcode)

dcode: $(B)/dcode
	install -m 0755 $< $@

$(B)/dcode: $(CMD_OBJ) $(B)/libdcode.a
	@echo '  LD   $@'
	$(Q)$(CC) $(LNK_$(V)) $(LDFLAGS) -o $@ $^ $(ARCHIVES) $(LIBS) -lm

$(B)/libdcode.a: $(LIB_OBJ)
	@rm -f $@
	@echo '  AR   $@'
	$(Q)ar rcs $@ $^

$(B)/%.o: %.c | $(GEN)
	@mkdir -p $(@D)
	@echo '  CC   $<'
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# In-sandbox scripts and the provider host become bytes of a C array: #include "scripts/sandbox/X.inc"
$(B)/gen/%.inc: %
	@mkdir -p $(@D)
	@echo '  GEN  $@'
	$(Q)od -An -v -tu1 $< | sed 's/\([0-9][0-9]*\)/\1,/g' >$@

# The manual becomes rows of manual_pages[] (cmd/manual.c); its folder changes when a page comes or goes.
$(B)/gen/cmd/manual.inc: $(MANUAL) cmd/manual
	@mkdir -p $(@D)
	@echo '  GEN  $@'
	$(Q)for f in $(MANUAL); do name=$${f##*/}; \
		echo "{ \"$${name%.md}\", (const unsigned char[]){"; \
		od -An -v -tu1 $$f | sed 's/\([0-9][0-9]*\)/\1,/g'; \
		echo "}, $$(wc -c <$$f) },"; done >$@

cmd/manual: ;

# The messages of a .proto become structs: #include "providers/X.pb-c.h"
$(B)/gen/%.pb-c.h: %.proto
	@mkdir -p $(@D)
	@echo '  GEN  $@'
	$(Q)protoc-c --c_out=$(B)/gen $<

$(B)/%.pb-c.o: $(B)/gen/%.pb-c.h
	@mkdir -p $(@D)
	@echo '  CC   $(<:.h=.c)'
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $(<:.h=.c)

$(B)/tests/unit/%: tests/unit/%.c $(B)/libdcode.a
	@mkdir -p $(@D)
	@echo '  LD   $@'
	$(Q)$(CC) $(ALL_CFLAGS) $(LNK_$(V)) -MMD -MP -Wl,-y,pthread_create -o $@ $< \
		$(B)/libdcode.a $(LIBS) -lm -lcmocka >$@.ld 2>&1 || { cat $@.ld; exit 1; }

$(B)/tests/fuzz/%: tests/fuzz/%.c $(B)/libdcode.a
	@mkdir -p $(@D)
	@echo '  LD   $@'
	$(Q)$(CC) $(ALL_CFLAGS) $(LNK_$(V)) -fsanitize=fuzzer -MMD -MP -o $@ $< $(B)/libdcode.a $(LIBS) -lm

$(B)/tests/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LNK_$(V)) -o $@ $(filter %.c,$^) \
		-Wl,--as-needed -lcurl -lcjson
$(B)/tests/bench/harness: tests/bench/answer.c tests/bench/answer.h

# The man pages and the shells' completions, from cmd/manual and the program's own tables.
$(DOCS) &: $(B)/dcode scripts/docs/gendocs.py scripts/docs/manpage.py $(MANUAL)
	@echo '  GEN  $(B)/docs'
	$(Q)/usr/bin/python3 scripts/docs/gendocs.py $< $(B)/docs

docs: $(DOCS)
manual: $(B)/dcode # after a change of a row that config.toml is parsed by
	/usr/bin/python3 scripts/docs/gentoml.py $< cmd/manual/toml.md
units: $(UNITS)
fuzzers: $(FUZZERS)
gen: $(GEN)
flags:
	@echo '$(ALL_CFLAGS)'

-include $(LIB_OBJ:.o=.d) $(CMD_OBJ:.o=.d) $(UNITS:%=%.d) $(FUZZERS:%=%.d)

check:
	./scripts/check
PART ?= soak
soak:
	./scripts/check $(PART)
demo:
	./scripts/demo
JOBS = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$$(getconf _NPROCESSORS_ONLN))
quick: # under 90 s on two idle cores, after one changed file
	@MAKEFLAGS= sh tests/lint/lint.sh $(FORM)
	$(MAKE) $(JOBS) V=asan all quick-units
	DCODE=$(CURDIR)/build/asan/dcode /usr/bin/python3 -m pytest -q $(SMOKE) -n 4
quick-units: $(QUICK)
	@sh tests/run-units.sh $(QUICK)
threaded: units
	@for t in $(UNITS); do grep -v clang_rt $$t.ld | grep -q ': reference to pthread_create$$' && \
		basename $$t _test; done | sort >$(B)/threaded
	@printf '%s\n' $(THREADED) $(LINKED) | sort | diff - $(B)/threaded || \
		{ echo 'Makefile: THREADED, LINKED are not what was linked'; exit 1; }
unit: units
	@sh tests/run-units.sh $(filter $(RUN),$(call UNIT_OF,$(SLOW))) $(filter $(QUICK),$(RUN))
# Finds reads of memory that was never written, which the sanitizers do not. It is slow, so tests with
# deadlines may fail: only valgrind's own findings count.
memcheck: units
	@rc=0; for t in $(UNITS); do echo "  VG   $$t"; \
		timeout 900 valgrind -q --error-exitcode=97 --child-silent-after-fork=yes \
			--log-file=$(B)/memcheck.log $$t >/dev/null 2>&1; \
		[ $$? -ne 97 ] || { rc=1; cat $(B)/memcheck.log; }; done; exit $$rc
e2e: all
	/usr/bin/python3 -m pytest -q tests/e2e --ignore-glob='*/test_sdk_*'
check-sdk:
	./scripts/check sdk
form-checks:
	@echo $(FORM)
lint:
	sh tests/lint/lint.sh
T ?= 60
fuzz:
	$(MAKE) V=asan fuzzers
	sh tests/fuzz/run.sh build/asan/tests/fuzz $(T) $(SEED) $(INPUTS)
bench: all $(BENCH)
	/usr/bin/python3 tests/bench/bench.py --bin $(B)/tests/bench $(BENCHFLAGS)
	/usr/bin/python3 tests/bench/terminal.py --bin $(B)/tests/bench $(BENCHFLAGS)
	/usr/bin/python3 tests/bench/distance.py $(BENCHFLAGS)
format:
	clang-format -i $$(git ls-files '*.c' '*.h')
PREFIX ?= /usr/local
SHARE   = $(DESTDIR)$(PREFIX)/share
install: dcode docs
	install -D -m 0755 -s dcode $(DESTDIR)$(PREFIX)/bin/dcode
	for f in $(B)/docs/man/*; do install -D -m 0644 $$f \
		$(SHARE)/man/man$${f##*.}/$${f##*/} || exit 1; done
	install -D -m 0644 $(B)/docs/dcode.bash \
		$(SHARE)/bash-completion/completions/dcode
	for f in providers/services/*.toml; do \
		install -D -m 0644 $$f $(SHARE)/dcode/services/$${f##*/} || exit 1; done
	install -D -m 0644 $(B)/docs/_dcode $(SHARE)/zsh/site-functions/_dcode
	install -D -m 0644 $(B)/docs/dcode.fish \
		$(SHARE)/fish/vendor_completions.d/dcode.fish
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/dcode $(SHARE)/man/man[157]/dcode[-.]* \
		$(SHARE)/bash-completion/completions/dcode \
		$(SHARE)/zsh/site-functions/_dcode \
		$(SHARE)/fish/vendor_completions.d/dcode.fish
	rm -rf $(SHARE)/dcode
clean:
	rm -rf build dcode
help:
	@echo 'make            build ./dcode (V=asan, V=tsan, V=cov: build/V/dcode)'
	@echo 'make demo       a real task in the local sandbox (SANDBOX=docker: in a container)'
	@echo 'make quick      form, changed code under ASan, the quick tests: a minute'
	@echo 'make check      every test, as CI runs them'
	@echo 'make unit       unit tests only          make e2e   end-to-end tests only'
	@echo 'make check-sdk  the vendors'"'"' own SDKs and API documents'
	@echo 'make lint       format, layers, limits   make fuzz T=60   fuzzers, seconds each'
	@echo 'make memcheck   unit tests under valgrind (half an hour)'
	@echo 'make bench      ratios against bare C programs built beside'
	@echo 'make soak       in full what make check samples; PART=torture: one part of it'
	@echo 'make manual     cmd/manual/toml.md, from the rows that parse config.toml'
	@echo 'make docs       build/release/docs: man pages, completions'
	@echo 'make install    to PREFIX (/usr/local)   make uninstall   make clean'
.PHONY: all docs manual units fuzzers gen quick quick-units threaded form-checks flags check check-sdk soak demo unit memcheck e2e lint fuzz bench format install uninstall clean help
.DELETE_ON_ERROR:
