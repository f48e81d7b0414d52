// SPDX-License-Identifier: GPL-2.0
/* Reads the text of the setup: one directive a line, words by one space. */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init.h"

/* The text as it is consumed: the rest of it, and of the current line. */
struct reader {
	char *text;
	char *line;
	const char *directive;
};

static void *grow(void *array, size_t count, size_t size)
{
	void *larger = reallocarray(array, count + 1, size);

	if (!larger)
		fail("init has no memory for the setup");
	return larger;
}

static char *read_all(int fd)
{
	size_t length = 0, room = 1 << 16;
	char *text = NULL;

	for (;;) {
		ssize_t got;

		text = realloc(text, room);
		if (!text)
			fail("init has no memory for the setup");
		got = read(fd, text + length, room - length - 1);
		if (got < 0)
			fail("init cannot read the setup: %s", strerror(errno));
		if (!got)
			break;
		length += got;
		if (length == room - 1)
			room *= 2;
	}
	text[length] = '\0';
	return text;
}

static int next_line(struct reader *reader)
{
	reader->line = strsep(&reader->text, "\n");
	return reader->line && (reader->text || *reader->line);
}

static char *word(struct reader *reader)
{
	char *found = strsep(&reader->line, " ");

	if (!found || !*found)
		fail("the setup's line '%s' ends too early", reader->directive);
	return found;
}

/* The rest of the line, spaces included. */
static char *rest(struct reader *reader)
{
	char *found = reader->line;

	if (!found || !*found)
		fail("the setup's line '%s' ends too early", reader->directive);
	reader->line = NULL;
	return found;
}

static uint64_t number(struct reader *reader, uint64_t most)
{
	const char *digits = word(reader);
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(digits, &end, 10);
	if (errno || *end || value > most)
		fail("the setup's line '%s' has '%s' for a number",
		     reader->directive, digits);
	return value;
}

static int hex(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	digit |= 0x20;
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Undoes percent-encoding in place: any byte may be part of an argument. */
static char *decode(char *text)
{
	char *from = text, *to = text;

	while (*from) {
		if (*from != '%') {
			*to++ = *from++;
			continue;
		}
		if (hex(from[1]) < 0 || hex(from[2]) < 0)
			fail("the setup has '%s' for a percent-encoded word", text);
		*to++ = hex(from[1]) << 4 | hex(from[2]);
		from += 3;
	}
	*to = '\0';
	return text;
}

static struct host *find_host(struct plan *plan, unsigned int index)
{
	for (size_t i = 0; i < plan->host_count; i++)
		if (plan->hosts[i].index == index)
			return &plan->hosts[i];
	fail("the setup names host %u, which does not exist", index);
}

static void read_host(struct plan *plan, struct reader *reader)
{
	struct host *host;
	char *address;

	plan->hosts = grow(plan->hosts, plan->host_count, sizeof(*host));
	host = &plan->hosts[plan->host_count++];
	host->index = number(reader, UINT_MAX);
	host->name = word(reader);
	address = word(reader);
	if (!inet_aton(address, &host->address))
		fail("host %s has the address '%s'", host->name, address);
	host->mtu = number(reader, 65535);
	host->netns = -1;
}

/* A host's address on the control network; comes after the host. */
static void read_control(struct plan *plan, struct reader *reader)
{
	struct host *host = find_host(plan, number(reader, UINT_MAX));
	char *address = word(reader);

	if (!inet_aton(address, &host->control))
		fail("host %s has the address '%s'", host->name, address);
}

/* NAME=VALUE for the environment of programs. */
static void read_environment(struct plan *plan, struct reader *reader)
{
	plan->environment = grow(plan->environment, plan->environment_count,
				 sizeof(*plan->environment));
	plan->environment[plan->environment_count++] = decode(word(reader));
}

/* Programs come after the hosts. */
static void read_program(struct plan *plan, struct reader *reader)
{
	struct program *program;
	size_t argc;

	plan->programs = grow(plan->programs, plan->program_count,
			      sizeof(*program));
	program = &plan->programs[plan->program_count++];
	program->id = number(reader, UINT_MAX);
	program->host = find_host(plan, number(reader, UINT_MAX));
	program->start = number(reader, UINT64_MAX);
	program->pid = 0;
	argc = number(reader, INT_MAX);
	if (!argc)
		fail("program %u of the setup has no command", program->id);
	program->argv = NULL;
	for (size_t i = 0; i <= argc; i++) {
		program->argv = grow(program->argv, i, sizeof(char *));
		program->argv[i] = NULL;
		if (i == argc)
			break;
		if (!next_line(reader) && !reader->line)
			fail("program %u of the setup lacks arguments",
			     program->id);
		program->argv[i] = decode(reader->line);
	}
}

static void read_setting(struct setting **settings, size_t *count,
			 struct reader *reader)
{
	*settings = grow(*settings, *count, sizeof(**settings));
	(*settings)[*count].key = word(reader);
	(*settings)[*count].value = rest(reader);
	(*count)++;
}

static void read_route(struct route *route, struct reader *reader)
{
	while (reader->line) {
		const char *metric = word(reader);
		uint32_t value = number(reader, UINT_MAX);

		if (!strcmp(metric, "initcwnd"))
			route->initcwnd = value;
		else if (!strcmp(metric, "initrwnd"))
			route->initrwnd = value;
		else if (!strcmp(metric, "rto_min"))
			route->rto_min_ms = value;
		else if (!strcmp(metric, "quickack"))
			route->quickack = value;
		else
			fail("the setup has the unknown metric '%s' of a route",
			     metric);
	}
}

static enum mode read_mode(struct reader *reader)
{
	static const char *const names[] = {
		[MODE_RUN] = "run",
		[MODE_EXEC] = "exec",
		[MODE_SHELL] = "shell",
	};
	const char *name = word(reader);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return i;
	fail("the setup asks for the unknown mode '%s'", name);
}

/* The plan keeps pointers into the text, which lives as long as init. */
void plan_read(struct plan *plan, int device)
{
	struct reader reader = { .text = read_all(device) };

	while (next_line(&reader)) {
		const char *directive = strsep(&reader.line, " ");

		reader.directive = directive;
		if (!strcmp(directive, "host"))
			read_host(plan, &reader);
		else if (!strcmp(directive, "control"))
			read_control(plan, &reader);
		else if (!strcmp(directive, "environment"))
			read_environment(plan, &reader);
		else if (!strcmp(directive, "program"))
			read_program(plan, &reader);
		else if (!strcmp(directive, "sysctl"))
			read_setting(&plan->sysctls, &plan->sysctl_count, &reader);
		else if (!strcmp(directive, "global"))
			read_setting(&plan->globals, &plan->global_count, &reader);
		else if (!strcmp(directive, "route"))
			read_route(&plan->route, &reader);
		else if (!strcmp(directive, "mode"))
			plan->mode = read_mode(&reader);
		else if (!strcmp(directive, "cwd"))
			plan->cwd = decode(rest(&reader));
		else if (!strcmp(directive, "root"))
			plan->root = 1;
		else
			fail("the setup has the unknown directive '%s'", directive);
	}
	if (plan->mode != MODE_RUN && !plan->program_count)
		fail("the setup has no program to wait for");
}
