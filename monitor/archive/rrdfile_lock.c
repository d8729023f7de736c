/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "archive/rrdfile_private.h"

/* Lock order: graph_mutex, then a path's mutex. registry_mutex is held only to look a path up. */
static pthread_mutex_t graph_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;

struct path_lock {
	struct path_lock *next;
	pthread_mutex_t mutex;
	unsigned users;
	char path[];
};

static struct path_lock *registry;

static struct path_lock *find(const char *path)
{
	struct path_lock *lock = registry;

	while (lock && strcmp(lock->path, path) != 0)
		lock = lock->next;
	return lock;
}

static struct path_lock *add(const char *path)
{
	struct path_lock *lock = calloc(1, sizeof(*lock) + strlen(path) + 1);

	if (!lock)
		return NULL;
	(void)pthread_mutex_init(&lock->mutex, NULL);
	strcpy(lock->path, path);
	lock->next = registry;
	registry = lock;
	return lock;
}

struct path_lock *path_lock_get(const char *path)
{
	struct path_lock *lock;

	(void)pthread_mutex_lock(&registry_mutex);
	lock = find(path);
	if (!lock)
		lock = add(path);
	if (lock)
		lock->users++;
	(void)pthread_mutex_unlock(&registry_mutex);
	return lock;
}

void path_lock_put(struct path_lock *lock)
{
	struct path_lock **link = &registry;

	if (!lock)
		return;
	(void)pthread_mutex_lock(&registry_mutex);
	if (--lock->users == 0) {
		while (*link != lock)
			link = &(*link)->next;
		*link = lock->next;
		(void)pthread_mutex_destroy(&lock->mutex);
		free(lock);
	}
	(void)pthread_mutex_unlock(&registry_mutex);
}

void path_lock_lock(struct path_lock *lock)
{
	(void)pthread_mutex_lock(&lock->mutex);
}

void path_lock_unlock(struct path_lock *lock)
{
	(void)pthread_mutex_unlock(&lock->mutex);
}

int rrdfile_lock_graph(const char *path)
{
	struct path_lock *lock = path_lock_get(path);

	if (!lock)
		return -ENOMEM;
	(void)pthread_mutex_lock(&graph_mutex);
	path_lock_lock(lock);
	return 0;
}

void rrdfile_unlock_graph(const char *path)
{
	struct path_lock *lock;

	(void)pthread_mutex_lock(&registry_mutex);
	lock = find(path); /* held since rrdfile_lock_graph() */
	(void)pthread_mutex_unlock(&registry_mutex);
	path_lock_unlock(lock);
	(void)pthread_mutex_unlock(&graph_mutex);
	path_lock_put(lock);
}
