/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way to an NVMe drive: which node, and the commands by libnvme. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "probes/identity_private.h"
#include "probes/reading_private.h"

#define NODE_MAX 256

struct node_port {
	char controller[NODE_MAX], node[NODE_MAX];
	int fd;
};

/* "nvme" and a number, nothing behind it: no namespace, no path of one. */
static bool is_controller(const char *name)
{
	return strncmp(name, "nvme", 4) == 0 && name[4] && name[4 + strspn(name + 4, "0123456789")] == '\0';
}

/* One that serves, of a subsystem with several; the lowest. */
static bool find_live(const char *folder, char *name, size_t size)
{
	DIR *dir = opendir(folder);
	unsigned long lowest = ULONG_MAX;
	const struct dirent *entry;
	char state[32];

	if (!dir)
		return false;
	while ((entry = readdir(dir)) != NULL) {
		unsigned long number;

		if (!is_controller(entry->d_name) ||
			sysfs_read_text(state, sizeof(state), folder, "/%s/state", entry->d_name) < 0 ||
			strcmp(state, "live") != 0)
			continue;
		number = strtoul(entry->d_name + 4, NULL, 10);
		if (number < lowest) {
			lowest = number;
			text_copy(name, size, entry->d_name);
		}
	}
	(void)closedir(dir);
	return lowest != ULONG_MAX;
}

void reading_nvme_find_controller(
	const char *root, const char *node, char *controller, size_t size, uint32_t *nsid)
{
	char real[PATH_MAX], link[PATH_MAX], folder[PATH_MAX], name[NAME_MAX + 1];
	const char *path = realpath(node, real) ? real : node;
	const char *slash = strrchr(path, '/');
	uint64_t number = 0;

	text_copy(controller, size, path);
	text_copy(name, sizeof(name), slash ? slash + 1 : path);
	*nsid = 0;
	if (is_controller(name))
		return;
	if (sysfs_read_u64(&number, root, "/sys/class/block/%s/nsid", name) == 0 && number < UINT32_MAX)
		*nsid = (uint32_t)number;
	(void)snprintf(link, sizeof(link), "%s/sys/class/block/%s/device", root, name);
	if (!realpath(link, folder))
		return;
	slash = strrchr(folder, '/');
	text_copy(name, sizeof(name), slash ? slash + 1 : folder);
	if (is_controller(name) || find_live(folder, name, sizeof(name)))
		(void)snprintf(controller, size, "/dev/%s", name);
}

static int port_open(void *arg)
{
	struct node_port *port = arg;
	int rc;

	port->fd = open(port->controller, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	rc = port->fd < 0 ? -errno : 0;
	/* A container may have the namespace alone. */
	if (rc == -ENOENT && strcmp(port->controller, port->node) != 0) {
		port->fd = open(port->node, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		rc = port->fd < 0 ? -errno : 0;
	}
	return rc;
}

/* What libnvme returns: -1 is errno, but an errno of 0 must not pass for an answer. */
static int result(int rc)
{
	if (rc >= 0)
		return rc;
	return errno ? -errno : -EIO;
}

/* The kernel's own time for commands: one that runs out resets the controller and with it what the run writes. */
static int port_identify(void *arg, uint8_t structure, uint32_t nsid, void *bytes)
{
	struct nvme_identify_args args = {
		.data = bytes,
		.args_size = sizeof(args),
		.fd = ((struct node_port *)arg)->fd,
		.timeout = NVME_DEFAULT_IOCTL_TIMEOUT,
		.cns = (enum nvme_identify_cns)structure,
		.csi = NVME_CSI_NVM,
		.nsid = nsid,
		.cntid = NVME_CNTLID_NONE,
		.cns_specific_id = NVME_CNSSPECID_NONE,
		.uuidx = NVME_UUID_NONE,
	};

	return result(nvme_identify(&args));
}

static int port_get_log(void *arg, const struct reading_nvme_log *log)
{
	struct nvme_get_log_args args = {
		.log = log->bytes,
		.args_size = sizeof(args),
		.fd = ((struct node_port *)arg)->fd,
		.timeout = NVME_DEFAULT_IOCTL_TIMEOUT,
		.lid = (enum nvme_cmd_get_log_lid)log->page,
		.len = log->length,
		.nsid = log->nsid,
		.csi = NVME_CSI_NVM,
		.lsi = log->specific,
		.lsp = NVME_LOG_LSP_NONE,
		.uuidx = NVME_UUID_NONE,
		/* Else the kernel's own events are lost. */
		.rae = true,
	};

	return result(nvme_get_log(&args));
}

static void port_free(void *arg)
{
	struct node_port *port = arg;

	if (port->fd >= 0)
		(void)close(port->fd);
	free(port);
}

int reading_read_nvme_known(
	const char *node, bool wants_error_log, struct reading_memory *memory, struct reading *out)
{
	struct node_port *arg = calloc(1, sizeof(*arg));
	const struct reading_nvme_port port = { arg, port_open, port_identify, port_get_log, port_free };
	uint32_t nsid;

	reading_init(out);
	if (!arg)
		return -ENOMEM;
	arg->fd = -1;
	text_copy(arg->node, sizeof(arg->node), node);
	reading_nvme_find_controller("", node, arg->controller, sizeof(arg->controller), &nsid);
	return reading_nvme_by_port(&port, nsid, wants_error_log, READING_DEADLINE_MS, memory, out);
}

int reading_read_nvme(const char *node, struct reading *out)
{
	return reading_read_nvme_known(node, false, NULL, out);
}
