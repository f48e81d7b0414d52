// SPDX-License-Identifier: GPL-2.0
/*
 * Reads what the setup says to init: numbers as core.h has them, then texts.
 * crates/etalon-scenario/src/init.rs writes it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init.h"

static void *memory(size_t count, size_t size)
{
	void *found = calloc(count + 1, size);

	if (!found)
		fail("init has no memory for the setup");
	return found;
}

static char *read_all(int fd, size_t *length)
{
	size_t room = 1 << 16;
	char *bytes = NULL;

	for (*length = 0;;) {
		ssize_t got;

		bytes = realloc(bytes, room);
		if (!bytes)
			fail("init has no memory for the setup");
		got = read(fd, bytes + *length, room - *length);
		if (got < 0)
			fail("init cannot read the setup: %s", strerror(errno));
		if (!got)
			return bytes;
		*length += got;
		if (*length == room)
			room *= 2;
	}
}

/* The texts that are left. */
struct texts {
	char *next;
	const char *end;
};

static char *text(struct texts *texts)
{
	char *found = texts->next;
	char *zero = memchr(found, 0, texts->end - found);

	if (!zero)
		fail("the setup ends too early for init");
	texts->next = zero + 1;
	return found;
}

static struct setting *settings(struct texts *texts, size_t count)
{
	struct setting *all = memory(count, sizeof(*all));

	for (size_t i = 0; i < count; i++) {
		all[i].key = text(texts);
		all[i].value = text(texts);
	}
	return all;
}

static char **list(struct texts *texts, size_t count)
{
	char **all = memory(count, sizeof(*all));

	for (size_t i = 0; i < count; i++)
		all[i] = text(texts);
	return all;
}

static void read_hosts(struct plan *plan, const struct etalon_init_host *given,
		       const struct etalon_init_route *routes)
{
	plan->hosts = memory(plan->host_count, sizeof(*plan->hosts));
	for (size_t i = 0; i < plan->host_count; i++) {
		struct host *host = &plan->hosts[i];

		host->index = i;
		if (asprintf(&host->name, "r%uh%u", given[i].rack,
			     given[i].number) < 0)
			fail("init has no memory for the setup");
		memcpy(&host->address, given[i].address, sizeof(host->address));
		memcpy(&host->control, given[i].control, sizeof(host->control));
		host->netns = -1;
		host->routes = routes;
		host->route_count = given[i].routes;
		routes += given[i].routes;
	}
}

static void read_programs(struct plan *plan,
			  const struct etalon_init_program *given,
			  struct texts *texts)
{
	plan->programs = memory(plan->program_count, sizeof(*plan->programs));
	for (size_t i = 0; i < plan->program_count; i++) {
		struct program *program = &plan->programs[i];

		program->id = i;
		program->host = &plan->hosts[given[i].host];
		program->start = given[i].start;
		program->argv = list(texts, given[i].arguments);
		program->environment = list(texts, given[i].variables);
	}
}

/* Of all hosts. */
static size_t route_count(const struct etalon_init_host *hosts, size_t count)
{
	size_t routes = 0;

	for (size_t i = 0; i < count; i++)
		routes += hosts[i].routes;
	return routes;
}

/* The plan keeps pointers into the routes and texts, which live as long as init. */
void plan_read(struct plan *plan, int device)
{
	const struct etalon_init_program *programs;
	const struct etalon_init_host *hosts;
	const struct etalon_init_route *routes;
	const struct etalon_init *head;
	struct texts texts;
	size_t length;
	char *bytes = read_all(device, &length);

	head = (const void *)bytes;
	if (length < sizeof(*head))
		fail("the setup ends too early for init");
	programs = (const void *)(head + 1);
	hosts = (const void *)(programs + head->programs);
	routes = (const void *)(hosts + head->hosts);
	texts.end = bytes + length;
	if ((const char *)routes > texts.end)
		fail("the setup ends too early for init");
	texts.next = (char *)(routes + route_count(hosts, head->hosts));
	if (texts.next > texts.end)
		fail("the setup ends too early for init");

	plan->mode = head->mode;
	plan->mtu = head->mtu;
	plan->host_count = head->hosts;
	read_hosts(plan, hosts, routes);
	plan->sysctl_count = head->sysctls;
	plan->sysctls = settings(&texts, head->sysctls);
	plan->global_count = head->files;
	plan->globals = settings(&texts, head->files);
	plan->environment_count = head->variables;
	plan->environment = list(&texts, head->variables);
	plan->cwd = head->folder ? text(&texts) : NULL;
	plan->program_count = head->programs;
	read_programs(plan, programs, &texts);
	if (plan->mode != ETALON_MODE_RUN && !plan->program_count)
		fail("the setup has no program to wait for");
}
