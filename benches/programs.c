// SPDX-License-Identifier: MIT OR Apache-2.0
/* What `programs.py` measures: WHAT, so many times. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static void run_true(void)
{
	pid_t child = fork();

	if (!child) {
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	waitpid(child, NULL, 0);
}

static void pass(volatile int *turn, int to)
{
	*turn = to;
	syscall(SYS_futex, turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void wait_for(volatile int *turn, int mine)
{
	while (*turn != mine)
		syscall(SYS_futex, turn, FUTEX_WAIT, !mine, NULL, NULL, 0);
}

/* Two processes on one processor wake each other in turn; one of them may read the time stamp counter, or not. */
static void rounds(long times, int counter)
{
	volatile int *turn = mmap(NULL, sizeof(*turn), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cpu_set_t here;
	pid_t child;

	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
	child = fork();
	if (!child)
		prctl(PR_SET_TSC, counter ? PR_TSC_ENABLE : PR_TSC_SIGSEGV);
	for (long i = 0; i < times; i++) {
		if (child)
			pass(turn, 1);
		wait_for(turn, !child);
		if (!child)
			pass(turn, 0);
	}
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	long times = argc > 2 ? atol(argv[2]) : 0;
	volatile unsigned long long counter __attribute__((unused));
	struct timespec now;

	if (!strcmp(argv[1], "rounds") || !strcmp(argv[1], "rounds-without"))
		rounds(times, !strcmp(argv[1], "rounds"));
	for (long i = 0; i < times; i++) {
		if (!strcmp(argv[1], "call"))
			syscall(SYS_getppid);
		else if (!strcmp(argv[1], "clock"))
			clock_gettime(CLOCK_MONOTONIC, &now);
		else if (!strcmp(argv[1], "counter"))
			counter = __rdtsc();
		else if (!strcmp(argv[1], "fork"))
			run_true();
	}
	return 0;
}
