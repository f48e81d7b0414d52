// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Maps, unmaps, protects and writes pages at random, forks, and looks after each step whether
 * each page is as it should be: not there, read-only, or writable, with the right content.
 * Prints a digest of what it saw. Timers interrupt it now and then.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 64
#define SIZE 4096

enum { GONE, WRITABLE, READ_ONLY };

static sigjmp_buf back;
static unsigned char *base;
static unsigned char state[PAGES], content[PAGES];
static unsigned long seed = 12345, digest = 1469598103934665603UL;

static unsigned int drawn(unsigned int below)
{
	seed = seed * 6364136223846793005UL + 1442695040888963407UL;
	return (seed >> 33) % below;
}

static void on_fault(int signal)
{
	siglongjmp(back, signal);
}

static void on_alarm(int signal)
{
}

/* What stands in a page; -1 if that may not be read or, if so asked, written. */
static int seen(int page, int writes)
{
	volatile unsigned char *at = base + page * SIZE + 7;

	if (sigsetjmp(back, 1))
		return -1;
	if (writes)
		*at = *at;
	return *at;
}

static void expect(int page, int writes, int wanted)
{
	int found = seen(page, writes);

	if (found != wanted) {
		printf("page %d, %s: %d, not %d\n", page, writes ? "written" : "read", found, wanted);
		exit(1);
	}
	digest = (digest ^ (unsigned int)found) * 1099511628211UL;
}

static void look(void)
{
	for (int page = 0; page < PAGES; page++) {
		expect(page, 0, state[page] == GONE ? -1 : content[page]);
		if (state[page] == READ_ONLY)
			expect(page, 1, -1);
	}
}

static void unmap(int page, int n)
{
	munmap(base + page * SIZE, n * SIZE - drawn(SIZE));
	memset(state + page, GONE, n);
}

static void fork_and_look(int page, int n)
{
	int status;
	pid_t child = fork();

	if (!child) {
		unmap(page, n);
		look();
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (status)
		exit(1);
}

static void step(int page, int n)
{
	unsigned char *at = base + page * SIZE;

	switch (drawn(6)) {
	case 0:
	case 1:
		unmap(page, n);
		break;
	case 2:
		mmap(at, n * SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		memset(state + page, WRITABLE, n);
		memset(content + page, 0, n);
		break;
	case 3:
		mprotect(at, n * SIZE, PROT_READ); /* up to the first page that is not there */
		while (n-- && state[page] != GONE)
			state[page++] = READ_ONLY;
		break;
	case 4:
		for (; n--; page++)
			if (state[page] == WRITABLE)
				base[page * SIZE + 7] = content[page] = drawn(256);
		break;
	default:
		if (drawn(20) == 0)
			fork_and_look(page, n);
	}
}

int main(int argc, char **argv)
{
	struct itimerval often = { { 0, 700 }, { 0, 700 } };
	struct sigaction action = { .sa_handler = on_fault };

	sigaction(SIGSEGV, &action, NULL);
	action.sa_handler = on_alarm;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	base = mmap(NULL, PAGES * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(base, PAGES * SIZE);
	for (long left = argc > 1 ? atol(argv[1]) : 0; left--;) {
		int page = drawn(PAGES);

		step(page, 1 + drawn(PAGES - page));
		if (drawn(8) == 0)
			look();
	}
	printf("%lx\n", digest);
	return 0;
}
