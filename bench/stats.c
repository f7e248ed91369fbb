/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stats: has the kernel count how long programs run for as long as this process lives, which costs
 * each run some 100 ns. The kernel ends it with the descriptor: whatever kills a bench, the machine
 * is as it was. (A sysctl that a killed script had set slowed all that was measured after it.)
 */
#include <bpf/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (fd < 0) {
		perror("stats: the kernel does not count the time of programs");
		return 1;
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	pause();
	return 0;
}
