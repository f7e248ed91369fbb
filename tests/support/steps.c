// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "steps.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <linux/if_ether.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "maps/hash.h"
#include "native.h"

#define HEADROOM  256 /* as the kernel gives */
#define STEPS_MAX 1000000

#ifdef __x86_64__
#define STANDS_AT rip
#else
#define STANDS_AT pc
#endif

int steps_put(const struct frame *f)
{
	static __u8 buffer[HEADROOM + FRAME_MAX] __attribute__((aligned(8)));
	__u8 *at = buffer + HEADROOM - ETH_HLEN; /* what follows is aligned */
	struct run_frame r = {buffer, at, at + f->length, buffer + sizeof(buffer)};

	memcpy(at, f->byte, f->length);
	return run_xdp(&r, NATIVE_DEVICE);
}

static __attribute__((noinline)) void over(void)
{
	raise(SIGSTOP);
	_exit(0);
}

/* Stops before and after the packet. */
static void child(const struct frame *f)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(2);
	raise(SIGSTOP);
	steps_put(f);
	over();
}

static __u64 add(__u64 sum, __u64 word)
{
	return poise_mix(sum ^ word) * POISE_GOLD;
}

/* Whether the packet is still under way. What registers hold at first is the caller's, and nothing
 * that the packet reads. */
static bool look(pid_t pid, struct steps *s, struct user_regs_struct *first)
{
	struct user_regs_struct regs;
	struct iovec io = {&regs, sizeof(regs)};
	const __u64 *reg = (const __u64 *)&regs, *was = (const __u64 *)first;

	cr_assert_eq(ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &io), 0);
	if (regs.STANDS_AT == (__u64)(uintptr_t)over)
		return false;
	if (!s->count++)
		*first = regs;
	s->path = add(s->path, regs.STANDS_AT);
	for (size_t k = 0; k < sizeof(regs) / sizeof(*reg); k++)
		s->places = add(s->places, reg[k] == was[k] ? 0 : reg[k]);
	return true;
}

struct steps steps_of(const struct frame *f)
{
	struct user_regs_struct first;
	struct steps s = {0};
	pid_t pid = fork();
	int status;

	cr_assert_neq(pid, -1);
	if (!pid)
		child(f);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status))
		return s;
	do {
		cr_assert_lt(s.count, STEPS_MAX);
		cr_assert_eq(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_assert(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP, "it ended: 0x%x",
			  status);
	} while (look(pid, &s, &first));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return s;
}
