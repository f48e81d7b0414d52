// SPDX-License-Identifier: MIT OR Apache-2.0
/* Reads the time stamp counter in places of all kinds. Prints what it read; to standard error, which places were replaced. */
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMES 1000

/* The instruction, and what makes a value of it, as compilers write them. */
#define VALUE "shl $32, %%rdx; or %%rdx, %%rax"
#define PLACE(name, code) \
	extern const unsigned char name##_place[]; \
	static __attribute__((noinline)) uint64_t name(void) \
	{ \
		uint64_t value; \
		asm volatile(".globl " #name "_place; " #name "_place: " code \
			     : "=a"(value) : : "rdx", "rcx", "cc", "memory"); \
		return value; \
	}

PLACE(plain, "rdtsc; " VALUE)
PLACE(fenced, "rdtsc; lfence; " VALUE)
PLACE(stored, "rdtsc; mov %%eax, -8(%%rsp); mov %%edx, -4(%%rsp); mov -8(%%rsp), %%rax")
PLACE(ordered, "rdtscp; " VALUE)
/* What follows cannot be executed elsewhere. */
PLACE(followed, "rdtsc; jmp 1f; 1: " VALUE)
PLACE(relative, "rdtsc; lea 1f(%%rip), %%rcx; 1: " VALUE)
/* Something jumps to what follows. */
extern const unsigned char entered_place[];
static __attribute__((noinline)) uint64_t entered(void)
{
	uint64_t value;

	asm volatile("mov $7, %%ecx; jmp 2f\n"
		     "1: xor %%ecx, %%ecx\n"
		     "2: test %%ecx, %%ecx; jz 3f\n"
		     ".globl entered_place; entered_place: rdtsc\n"
		     "3: " VALUE "; test %%ecx, %%ecx; jnz 1b"
		     : "=a"(value) : : "rdx", "rcx", "cc");
	return value;
}

/* Flags, and what lies below the stack's end, stay. */
extern const unsigned char careful_place[];
static __attribute__((noinline)) int careful(void)
{
	uint64_t below;
	unsigned char carry;

	asm volatile("movq $77, -64(%%rsp); stc\n"
		     ".globl careful_place; careful_place: rdtsc; mov %%eax, %%eax; mov %%edx, %%edx\n"
		     "setc %1; mov -64(%%rsp), %0"
		     : "=r"(below), "=r"(carry) : : "rax", "rdx", "cc", "memory");
	return below == 77 && carry;
}

static void print(const char *name, uint64_t (*read)(void), const unsigned char *place)
{
	uint64_t first = read(), last = first, sum = 0;

	for (int i = 0; i < TIMES; i++) {
		uint64_t now = read();

		sum += (now - last) * (i + 1);
		last = now;
	}
	printf("%s %lu %lu %lu\n", name, first, last - first, sum);
	fprintf(stderr, "%s %d\n", name, *place == 0xe9);
}

#define PRINT(name) print(#name, name, name##_place)

int main(void)
{
	uint64_t end;

	PRINT(plain);
	PRINT(fenced);
	PRINT(stored);
	PRINT(ordered);
	PRINT(followed);
	PRINT(relative);
	printf("careful %d %d %d\n", careful(), careful(), careful());
	fprintf(stderr, "careful %d\n", careful_place[0] == 0xe9);
	fflush(stdout);
	if (fork() == 0) {
		PRINT(plain);
		PRINT(followed);
		return 0;
	}
	wait(NULL);
	PRINT(plain);
	for (uint64_t ns = 10000; ns <= 25000000; ns *= 50) {
		end = plain() + ns;
		while (plain() < end)
			;
		printf("late %lu\n", plain() - end);
	}
	for (int i = 0; i < TIMES; i++) /* a place is replaced at its second fault */
		if (entered() == 0)
			return 1;
	printf("entered\n");
	fprintf(stderr, "entered %d\n", entered_place[0] == 0xe9);
	return 0;
}
