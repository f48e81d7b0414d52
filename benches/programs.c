// SPDX-License-Identifier: MIT OR Apache-2.0
/* What `programs.py` measures: WHAT, so many times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int main(int argc, char **argv)
{
	long times = argc > 2 ? atol(argv[2]) : 0;
	struct timespec now;

	for (long i = 0; i < times; i++) {
		if (!strcmp(argv[1], "call"))
			syscall(SYS_getppid);
		else if (!strcmp(argv[1], "clock"))
			clock_gettime(CLOCK_MONOTONIC, &now);
		else if (!strcmp(argv[1], "counter"))
			__rdtsc();
		else if (!strcmp(argv[1], "fork"))
			run_true();
	}
	return 0;
}
