# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# poise: make help

.DEFAULT_GOAL := all
CC	?= gcc
CLANG	?= clang
B	:= build
VERSION	:= 0.1.0
PKGS	:= libbpf libxdp yaml-0.1 json-c libmnl libcap libsystemd libuv

CFLAGS	?= -O2 -g
WARN	:= -Wall -Wextra -Werror
CPPFLAGS += -D_GNU_SOURCE -DPOISE_VERSION='"$(VERSION)"' -I. -I$(B)
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS) -MMD -MP $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LDLIBS	= $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm
BPF_ARCH := $(shell uname -m)-linux-gnu
# v3: the newest instruction set that 6.1 takes (mechanics: v4 needs 6.6)
BPF_CFLAGS = -target bpf -mcpu=v3 -O2 -g $(WARN) -I. -I/usr/include/$(BPF_ARCH)

src	= $(patsubst %.c,$(B)/%.o,$(wildcard $(1)))
MAPS	:= $(call src,maps/*.c)
ATTACH	:= $(call src,loader/attach/*.c)
NET	:= $(call src,loader/net/*.c)
LIBS	:= $(B)/libnet.a $(B)/libattach.a $(B)/libmaps.a
SKEL	:= $(patsubst bpf/%.bpf.c,$(B)/bpf/%.skel.h,$(wildcard bpf/*.bpf.c))
TESTLIB	:= $(B)/libtest.a
TESTS_IN = $(patsubst %.c,$(B)/%,$(wildcard tests/$(1)/*.c))

all: $(B)/poise $(B)/poised

$(B)/poise: $(call src,cli/*.c) $(LIBS)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/poised: $(call src,loader/*.c) $(LIBS)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/libmaps.a: $(MAPS)
$(B)/libattach.a: $(ATTACH)
$(B)/libnet.a: $(NET)
$(TESTLIB): $(call src,tests/support/*.c)
$(B)/%.a:
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(ATTACH): | $(SKEL)

# Debug sections go, BTF stays: with them the skeleton is 20 times as large (mechanics section 1).
$(B)/bpf/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<
	llvm-strip -g $@

$(B)/bpf/%.skel.h: $(B)/bpf/%.bpf.o
	bpftool gen skeleton $< name $* > $@.tmp && mv $@.tmp $@

$(B)/tests/%: tests/%.c $(TESTLIB) $(LIBS) | $(SKEL)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(TESTLIB) $(LIBS) $(LDLIBS) -lcriterion

clean:
	rm -rf $(B)

help:
	@echo "all clean help"

.PHONY: all clean help
.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
