# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# poise. A target's sentence after ## is what `make help` prints.
#
# Everything built lands in $(B). Objects depend on their headers (-MMD), on the generated skeletons
# (by order at first, by -MMD after) and on $(B)/flags, so that nothing stale is ever linked and
# nothing is built twice.

.DEFAULT_GOAL := all

ifeq ($(origin CC),default)
CC	:= gcc
endif
CLANG	?= clang
STRIP	?= llvm-strip
# Ubuntu's bpftool wrapper insists on tools of the running kernel; the real binary does not.
BPFTOOL	?= $(firstword $(wildcard /usr/lib/linux-tools-*/bpftool) bpftool)
B	:= build
VERSION	:= 0.1.0
PKGS	:= libbpf libxdp yaml-0.1 json-c libmnl libcap libsystemd libuv libcurl libpcre2-8

PREFIX	?= /usr/local
SBINDIR	?= $(PREFIX)/sbin
LIBDIR	?= $(PREFIX)/lib/poise
MANDIR	?= $(PREFIX)/share/man
UNITDIR	?= $(if $(filter /usr,$(PREFIX)),/lib/systemd/system,/etc/systemd/system)

CFLAGS	?= -O2 -g
WARN	:= -Wall -Wextra -Werror
CPPFLAGS += -D_GNU_SOURCE -DPOISE_VERSION='"$(VERSION)"' -I. -I$(B)
ALL_CFLAGS := -std=gnu11 $(WARN) $(CFLAGS) $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LDLIBS	:= $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm
# v3: the newest instruction set that kernel 6.1 takes; v4 needs 6.6.
BPF_CFLAGS := -target bpf -mcpu=v3 -O2 -g $(WARN) -I. -I/usr/include/$(shell uname -m)-linux-gnu
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

src	= $(patsubst %.c,$(B)/%.o,$(filter-out %.bpf.c,$(wildcard $(1))))
tests	= $(patsubst %.o,%,$(call src,tests/$(1)/*.c))
LIBS	:= $(B)/libhealth.a $(B)/libnet.a $(B)/libattach.a $(B)/libmaps.a
CLILIB	:= $(B)/libcli.a
DAEMONLIB := $(B)/libpoised.a
TESTLIB	:= $(B)/libtest.a
NATIVE	:= $(B)/libnative.a
LOADLIB	:= $(B)/libload.a
BENCHED	:= $(addprefix $(B)/bench/,tail/report pick stats compare/compare peers/report)
BENCHES	:= $(addprefix $(B)/bench/,datapath counts)
SUITES	:= $(BENCHES) $(addprefix $(B)/bench/,cases cases-counted)
BENCH_TESTED := $(SUITES) $(addprefix $(B)/bench/,cases-extra cases-extra-counted)
CHAIN	:= $(addprefix $(B)/bench/chain/,chain lines noop.bpf.o bare.bpf.o)
SKEL	:= $(patsubst %.bpf.c,$(B)/%.skel.h,$(wildcard bpf/*.bpf.c bench/*.bpf.c bench/*/*.bpf.c tests/*/*.bpf.c))
UNIT	:= $(call tests,unit)
FUZZ	:= $(call tests,fuzz)
DATAPATH := $(call tests,datapath)
E2E	:= $(call tests,e2e)
VM	:= $(call tests,vm)
TESTS	:= $(UNIT) $(FUZZ) $(DATAPATH) $(E2E) $(VM)
C_FILES	= $(wildcard $(addsuffix /*.[ch],bpf maps loader loader/* cli docs bench bench/* tests/*))
USER_C	= $(filter-out %.bpf.c,$(filter %.c,$(C_FILES)))

.PHONY: test-full all deps test demo test-unit test-datapath test-e2e test-docs test-kube test-vm test-asan tests
.PHONY: fuzz man lab run-tests bench-quick bench-datapath bench-tail bench-told bench-capacity bench-compare bench-reruns bench-chain bench-peers bench-kube bench-report deps-bench lint format install uninstall clean help
.PHONY: bench bench-smoke bench-baseline
.PHONY: FORCE
.SECONDARY:
.DELETE_ON_ERROR:

# ---- what is built -------------------------------------------------------------------------------

all: $(B)/poise $(B)/poised ## Build poise and poised (the default)

$(B)/poise: $(B)/cli/main.o $(CLILIB) $(LIBS)
$(B)/poised: $(B)/loader/main.o $(DAEMONLIB) $(LIBS)
# Of the two only poised answers HTTP; benches do without it.
$(B)/poised $(TESTS) $(B)/fuzz/%: HTTPD := -lmicrohttpd
$(B)/poise $(B)/poised:
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(HTTPD)

# Pages of poise come from the tables it is built from; one stands for all (man/poise.8).
MAN_IN	= $(wildcard docs/man/*.in)
man: $(B)/man/poise.8 ## Write the manual pages of poise into build/man
$(B)/man/poise.8: $(B)/docs/man $(MAN_IN)
	@mkdir -p $(@D)
	$(B)/docs/man $(@D) $(MAN_IN)
$(B)/docs/man: $(B)/docs/man.o $(CLILIB) $(LIBS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(CLILIB): $(filter-out %/main.o,$(call src,cli/*.c))
$(DAEMONLIB): $(filter-out %/main.o,$(call src,loader/*.c loader/kube/*.c))
$(B)/libmaps.a: $(call src,maps/*.c)
$(B)/libattach.a: $(call src,loader/attach/*.c)
$(B)/libnet.a: $(call src,loader/net/*.c)
$(B)/libhealth.a: $(call src,loader/health/*.c)
$(NATIVE): $(B)/bpf/native.o
$(LOADLIB): $(filter-out %/load.o %/echod.o,$(call src,bench/load/*.c bench/sample.c)) \
	$(B)/tests/lab/endpoint.o
# Packets are bytes and headers at once.
$(B)/bpf/native.o $(B)/tests/unit/bucket.o $(B)/bench/inside.o: ALL_CFLAGS += -fno-strict-aliasing
$(TESTLIB): $(call src,tests/support/*.c)
$(B)/%.a:
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Whoever may include a skeleton waits for all of them the first time.
$(call src,loader/attach/*.c bench/*.c bench/*/*.c tests/*/*.c): | $(SKEL)

# Generated code is bpftool's: clang-tidy keeps out of it.
define SKELETON
echo '/* NOLINTBEGIN */' > $@.tmp
$(BPFTOOL) gen skeleton $< name $(notdir $*) >> $@.tmp 2> $@.log || { cat $@.log; exit 1; }
echo '/* NOLINTEND */' >> $@.tmp
mv $@.tmp $@
endef

# Debug sections go, BTF stays: with them the skeleton is 20 times as large.
$(B)/%.bpf.o: %.bpf.c $(B)/flags
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<
	$(STRIP) -g $@

$(B)/%.skel.h: $(B)/%.bpf.o
	$(SKELETON)

# Every assertion passes by tests/support/evidence.c.
$(TESTS): $(B)/tests/%: $(B)/tests/%.o $(TESTLIB) $(NATIVE) $(CLILIB) $(DAEMONLIB) $(LIBS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -Wl,--wrap=criterion_send_assert $(LDLIBS) $(HTTPD) -lcriterion

$(B)/tests/unit/bench_tail $(B)/tests/e2e/bench: $(addprefix $(B)/bench/tail/,cells.o claims.o)
$(B)/tests/unit/bench_compare: $(addprefix $(B)/bench/,compare/pairs.o compare/require.o sample.o)
$(addprefix $(B)/tests/,unit/bench_ask unit/bench_load unit/bench_sample unit/bench_tail e2e/bench): $(LOADLIB)

# The lab's own programs; each is its file and the nouns it uses.
LAB	:= $(addprefix $(B)/tests/lab/,bulk serve flood probe datagram hold pieces sizes) \
	$(addprefix $(B)/bench/load/,load echod)
lab: $(LAB) $(addprefix $(B)/tests/lab/,pass.bpf.o lossy.bpf.o) ## Build what tests/lab/lab and its users need
$(addprefix $(B)/tests/lab/,bulk serve sizes): $(addprefix $(B)/tests/lab/,sha256.o endpoint.o)
$(addprefix $(B)/tests/lab/,flood probe datagram hold pieces): $(B)/tests/lab/endpoint.o
$(B)/tests/lab/flood $(B)/bench/chain/chain: $(B)/tests/lab/burst.o
$(B)/bench/load/load $(B)/bench/load/echod: $(LOADLIB)
$(LAB): %: %.o
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Fuzz targets under libFuzzer: build/fuzz/NAME [-max_total_time=60] CORPUS tests/fuzz/seeds/NAME.
# The libraries' sources are compiled in, for coverage.
FUZZ_SRC := $(wildcard maps/*.c loader/net/*.c)
FUZZERS	:= $(shell grep -l LLVMFuzzerTestOneInput tests/fuzz/*.c)
FUZZ_SECONDS ?= 60
$(B)/fuzz/%: tests/fuzz/%.c tests/support/fuzz.h $(FUZZ_SRC) $(wildcard maps/*.h loader/net/*.h)
	@mkdir -p $(@D)
	$(CLANG) -DPOISE_LIBFUZZER $(CPPFLAGS) -std=gnu11 $(WARN) -O1 -g $(SANITIZE) \
		-fsanitize=fuzzer -o $@ $< $(FUZZ_SRC) $(FUZZ_MORE) $(LDLIBS) $(HTTPD)
$(B)/fuzz/packet: FUZZ_MORE = -fno-strict-aliasing bpf/native.c \
	$(addprefix tests/support/,native.c frame.c show.c words.c) -lcriterion
$(B)/fuzz/packet: $(wildcard bpf/*.[ch])
$(B)/fuzz/answer: FUZZ_MORE = $(wildcard loader/health/*.c)
$(B)/fuzz/answer: $(wildcard loader/health/*.[ch])
# kube_NAME reads what loader/kube/NAME.c does; what else of poised that calls is in the libraries.
KUBE_FUZZERS := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/kube_*.c))
$(KUBE_FUZZERS): FUZZ_MORE = $(filter-out %/kube.c,$(wildcard loader/kube/*.c)) $(DAEMONLIB) $(LIBS)
$(KUBE_FUZZERS): $(wildcard loader/kube/*.[ch]) $(DAEMONLIB) $(LIBS)

fuzz: $(FUZZERS:tests/fuzz/%.c=$(B)/fuzz/%) ## FUZZ_SECONDS (60) of libFuzzer on each target
	@for t in $^; do n=$${t##*/}; mkdir -p $(B)/fuzz/corpus/$$n && \
	$$t -max_total_time=$(FUZZ_SECONDS) -timeout=10 -print_final_stats=1 \
		-artifact_prefix=$(B)/fuzz/$$n- $(B)/fuzz/corpus/$$n tests/fuzz/seeds/$$n || exit 1; done

# The command lines: when they change, everything is built anew.
define FLAGS
$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) $(LDLIBS)
$(CLANG) $(BPF_CFLAGS)
endef
export FLAGS
$(B)/flags: FORCE
	@pkg-config --exists $(PKGS) libmicrohttpd || { echo "libraries are missing: make deps" >&2; exit 1; }
	@mkdir -p $(@D)
	@echo "$$FLAGS" | cmp -s - $@ || echo "$$FLAGS" > $@

# Not those of the trees that bench-compare builds.
-include $(shell find $(B) -path $(B)/compare -prune -o -name '*.d' -print 2>/dev/null)

# ---- tests ---------------------------------------------------------------------------------------

# Seconds a binary may take: a hang is a failure, not a wait. The slowest takes a minute on a machine
# with nothing else to do; one that is ten times slower is slow, not wrong.
RUN_UNIT     = -t 900 $(UNIT) $(FUZZ)
RUN_DATAPATH = -t 900 $(DATAPATH)
RUN_E2E	     = -t 900 $(E2E)
RUN_DOCS     = -t 900 $(wildcard tests/docs/run)
RUN_BENCH    = -t 900 bench/test
RUN_KUBE     = -t 900 tests/kube/conformance tests/kube/manifests
RUN_VM	     = -t 3600 $(wildcard tests/vm/run)
# Left out: what puts millions of packets or many programs through, which takes an emulated CPU
# minutes; and what reads files of this tree.
VM_ALL	 = $(filter-out $(addprefix %/,limits mix store gauges flood spread resize balance kube),\
	$(DATAPATH)) $(VM)
# Those that between them go every way a packet can, for `make test`: each loads the programs, which
# takes the emulated verifier of 6.1 some ten seconds.
VM_SOME	 = $(addprefix $(B)/tests/datapath/,address answer cut decap flow forward fragment icmp overlay pass quic \
	probe ranges) $(VM)
export VM_TESTS = $(VM_SOME)

deps: ## Install what is missing to build and test (Debian 12+, Ubuntu 24.04+)
	@scripts/deps.sh

test: deps ## Install what is missing, build, run every test
	@$(MAKE) --no-print-directory -j $(CPUS) $(TESTED)
	@$(MAKE) --no-print-directory run-tests

demo: deps ## Install what is missing, build, show poise at work in a lab of namespaces
	@$(MAKE) --no-print-directory all lab
	@tests/lab/demo

tests: $(TESTS) ## Build the tests, run none

# The emulated kernels need nothing but CPU, and get what the others leave. As many of the others at a
# time as there are CPUs, but those with deadlines one by one.
TESTED	= all lab man tests $(BENCHED) $(BENCH_TESTED) $(CHAIN)
CPUS := $(shell nproc 2>/dev/null || echo 1)
JOBS ?= $(CPUS)
run-tests: $(TESTED)
	@B=$(B) tests/run $(subst tests/vm/run,-b tests/vm/run,$(RUN_VM)) \
		-j $(JOBS) $(RUN_UNIT) $(RUN_DATAPATH) -j 1 $(RUN_E2E) $(RUN_DOCS) $(RUN_BENCH) $(RUN_KUBE)

test-unit: $(UNIT) $(FUZZ) ## Pure C: no kernel, no privileges
	@B=$(B) tests/run $(RUN_UNIT)

test-datapath: $(DATAPATH) ## Packets through the loaded program
	@B=$(B) tests/run $(RUN_DATAPATH)

# As many flows as were promised once: minutes, so not with every run.
test-full: all lab $(addprefix $(B)/tests/,datapath/flood datapath/gauges e2e/attach e2e/flap e2e/kube_nodes e2e/many unit/nat_model)
test-full: ## 16 M first packets, 17 M flows, 2,000 checks a second for ten minutes, an API server away for one
	@B=$(B) POISE_NAT_FLOWS=10000000 POISE_FLOOD=16 POISE_MIX=3 POISE_FULL=1 tests/run -t 900 $(filter-out all lab,$^)

test-e2e: all lab man $(E2E) $(BENCHED) $(CHAIN) ## Namespaces, real servers, real traffic
	@B=$(B) tests/run $(RUN_E2E)

test-docs: all lab man ## The command blocks of README and the man pages
	@B=$(B) tests/run $(RUN_DOCS)

test-kube: all man ## Is the test API server as a real one, and are the manifests right
	@B=$(B) tests/run $(RUN_KUBE)

test-vm: VM_TESTS = $(VM_ALL)
test-vm: all tests ## Debian's 6.1 and 6.12 kernels, booted in QEMU
	@B=$(B) tests/run $(RUN_VM)

test-asan: ## Unit tests, native datapath included, under ASan and UBSan
	@$(MAKE) --no-print-directory B=$(B)/asan CFLAGS="-O1 -g $(SANITIZE)" test-unit

# ---- measuring -----------------------------------------------------------------------------------

# The cases of the suites, twice: as they are, and counting themselves (bench/inside.h).
CASES	:= $(call src,$(addprefix bench/,case.c cases.c times.c sample.c ground.c put.c row.c balancer.c)) \
	$(call src,bench/suite_*.c $(addprefix tests/support/,frame.c words.c)) $(CLILIB) $(DAEMONLIB) $(LIBS)
$(B)/bench/cases: $(B)/bench/inside.o
$(B)/bench/cases-counted: $(B)/bench/inside-counted.o $(B)/bench/touch.o
$(addprefix $(B)/bench/,cases cases-counted cases-extra cases-extra-counted): $(CASES)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Two revisions, their objects in turns: bench/compare/run builds them.
COMPARE	:= $(addprefix $(B)/bench/compare/,compare standby)
$(B)/bench/compare/compare: $(addprefix $(B)/bench/,compare/side.o compare/pairs.o compare/require.o sample.o)
$(B)/bench/compare/standby: $(B)/bench/measure.o $(B)/bench/sample.o \
	$(call src,bench/row.c bench/balancer.c) $(LIBS)
$(COMPARE): %: %.o
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The whole path in a lab, by live frames.
$(B)/bench/chain/chain: %: %.o $(addprefix $(B)/,tests/lab/endpoint.o bench/sample.o)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/bench/peers/report: %: %.o $(B)/bench/sample.o
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

bench-peers: all lab $(BENCHED) $(CHAIN) ## CPU a connection and a gigabyte: poise, nftables, HAProxy, nginx
	@B=$(B) bench/peers/run
	@[ ! "$(IPVS)" ] || B=$(B) bench/peers/ipvs

bench-kube: all lab ## What it takes to follow a cluster of 1,000 Services, and 100,000 endpoints
	@B=$(B) bench/kube/run

bench-chain: all lab $(BENCHED) $(CHAIN) ## Packets a CPU second of the whole path, against a no-op
	@B=$(B) bench/chain/run

# With everything that its steps need.
bench-report: all lab $(BENCHED) $(CHAIN) $(or $(SUITES),$(B)/bench/datapath) ## Measure all (half a quiet hour), write BENCHMARKS.md (STEPS=)
	@B=$(B) bench/report/run

bench-compare: ## BASE=REF: is what stands here slower or faster (REQUIRE='ns<=-5%', BENCH=)
	@bench/compare/run

bench-reruns: $(COMPARE) ## May bench-compare be believed: 20 reruns, 20 with 3 % more (RERUNS=, BENCH=)
	@B=$(B) bench/compare/reruns

# Every access to memory becomes a call.
TOUCH_gcc := --param asan-instrumentation-with-call-threshold=0 --param asan-stack=0 --param asan-globals=0
TOUCH_clang := $(addprefix -mllvm ,-asan-instrumentation-with-call-threshold=0 -asan-stack=0 -asan-globals=0)
TOUCH	= -DINSIDE_COUNTED -fsanitize=kernel-address \
	$(if $(findstring clang,$(shell $(CC) --version)),$(TOUCH_clang),$(TOUCH_gcc))
$(B)/bench/inside-counted.o: bench/inside.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -fno-strict-aliasing $(TOUCH) -MMD -MP -c -o $@ $<

$(B)/bench/datapath: $(B)/bench/measure.o $(B)/bench/sample.o
$(BENCHES): %: %.o $(call src,bench/row.c bench/balancer.c) $(LIBS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# With what must not go unnoticed on a packet's way: a branch; a look-up and a helper (bench/test).
$(B)/bench/inside-extra.o: bench/inside.c $(B)/flags
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -fno-strict-aliasing -DBENCH_EXTRA=4 -MMD -MP -c -o $@ $<
$(B)/bench/inside-extra-counted.o: bench/inside.c $(B)/flags
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -fno-strict-aliasing $(TOUCH) -DBENCH_EXTRA=3 -MMD -MP -c -o $@ $<
$(B)/bench/cases-extra: $(B)/bench/inside-extra.o
$(B)/bench/cases-extra-counted: $(B)/bench/inside-extra-counted.o $(B)/bench/touch.o

BENCH	?=

bench-smoke: $(BENCH_TESTED) $(BENCHED) ## Every bench compiles, every case runs once: no numbers
	@B=$(B) bench/test

bench-quick: $(SUITES) ## What a packet or a change costs, counted: the same on every run (BENCH=)
	@B=$(B) bench/quick $(if $(BENCH),'$(BENCH)')

bench: $(SUITES) ## The same numbers, and times with their range (BENCH=, CPUS=)
	@B=$(B) BENCH='$(BENCH)' CPUS='$(CPUS)' bench/full

bench-baseline: $(SUITES) ## Write what bench-quick is compared with; say why in the commit
	@B=$(B) bench/rebase

bench-datapath: $(B)/bench/datapath ## Cost of a packet against a no-op XDP_TX, as a table and JSON
	@mkdir -p bench/results
	@$(B)/bench/datapath -o bench/results/datapath.json

# Real clients and servers in a lab: what they say depends on the machine, and on what else it does.
$(B)/bench/tail/report: $(addprefix $(B)/bench/tail/,report.o cells.o claims.o) $(B)/bench/sample.o
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(addprefix $(B)/bench/,pick stats chain/lines): %: %.o
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

bench-tail: all lab $(BENCHED) ## Latency where some backends are slow (QUICK=1: 2 min)
	@B=$(B) bench/tail/run
	@[ "$(QUICK)$(KIND)" ] || B=$(B) KIND=kept SCENARIOS="0 1 2" REPS=3 bench/tail/run

bench-told: all lab $(BENCHED) ## Is the latency that poise tells the one that servers log (2 min)
	@B=$(B) bench/tail/told

bench-capacity: all lab $(BENCHED) ## How many clients are served (RAMP=, WINDOW=, MIX=, SLO_P99=)
	@B=$(B) bench/capacity/run

deps-bench: ## Install what only benches use: gnuplot, perf
	@scripts/deps.sh bench

# ---- style ---------------------------------------------------------------------------------------

TIDY	= $(patsubst %.c,tidy-%,$(USER_C))
BPF_TIDY = $(patsubst %.c,tidy-bpf-%,$(filter %.bpf.c,$(C_FILES)))
.PHONY: $(TIDY) $(BPF_TIDY)
$(TIDY): tidy-%: | $(SKEL)
	@clang-tidy --quiet $*.c -- $(CPPFLAGS) $(ALL_CFLAGS) 2>/dev/null
$(BPF_TIDY): tidy-bpf-%:
	@clang-tidy --quiet $*.c -- $(BPF_CFLAGS) 2>/dev/null

lint: $(TIDY) $(BPF_TIDY) ## clang-tidy, clang-format, cppcheck, shellcheck; gcc and clang
	@clang-format --dry-run -Werror $(C_FILES)
	@scripts/lint-optional
	@$(MAKE) --no-print-directory CC=gcc B=$(B)/gcc all tests
	@$(MAKE) --no-print-directory CC=clang B=$(B)/clang all tests

format: ## Rewrite the C files as .clang-format says
	@clang-format -i $(C_FILES)

# ---- installing ----------------------------------------------------------------------------------

INSTALL	?= install
BASHDIR	:= $(PREFIX)/share/bash-completion/completions
ZSHDIR	:= $(PREFIX)/share/zsh/site-functions
FISHDIR	:= $(PREFIX)/share/fish/vendor_completions.d
MAN	= $(wildcard docs/man/*.[58] $(B)/man/*.[58])
UNITS	= $(wildcard deploy/systemd/*.service)

install: all man ## Install under PREFIX (/usr/local): programs, man pages, unit, completions
	$(INSTALL) -D -m 755 -t $(DESTDIR)$(SBINDIR) $(B)/poise $(B)/poised
	for m in $(MAN); do \
		$(INSTALL) -D -m 644 -t $(DESTDIR)$(MANDIR)/man$${m##*.} $$m || exit 1; done
	$(INSTALL) -D -m 644 $(B)/bpf/dispatcher.bpf.o $(DESTDIR)$(LIBDIR)/xdp-dispatcher.o
	$(INSTALL) -d $(addprefix $(DESTDIR),$(UNITDIR) $(BASHDIR) $(ZSHDIR) $(FISHDIR))
	for u in $(UNITS); do \
		sed 's|@SBINDIR@|$(SBINDIR)|g' $$u > $(DESTDIR)$(UNITDIR)/$${u##*/} || exit 1; done
	$(B)/poise completion bash > $(DESTDIR)$(BASHDIR)/poise
	$(B)/poise completion zsh > $(DESTDIR)$(ZSHDIR)/_poise
	$(B)/poise completion fish > $(DESTDIR)$(FISHDIR)/poise.fish

uninstall: ## Remove what install put there
	rm -f $(addprefix $(DESTDIR)$(SBINDIR)/,poise poised)
	rm -f $(DESTDIR)$(LIBDIR)/xdp-dispatcher.o
	rmdir $(DESTDIR)$(LIBDIR)
	for m in $(notdir $(MAN)); do rm -f $(DESTDIR)$(MANDIR)/man$${m##*.}/$$m; done
	rm -f $(addprefix $(DESTDIR)$(UNITDIR)/,$(notdir $(UNITS)))
	rm -f $(DESTDIR)$(BASHDIR)/poise $(DESTDIR)$(ZSHDIR)/_poise $(DESTDIR)$(FISHDIR)/poise.fish

clean: ## Remove everything built
	rm -rf $(B)

help: ## This list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | \
		awk -F'\t' '{ printf "  %-15s %s\n", $$1, $$2 }'
