/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Identify Controller, Identify Namespace and the namespace's descriptors, of the NVM Express base specification. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probes/identity_private.h"

#define NVME_1_3 0x10300 /* from here on a controller has namespace descriptors */

/* The order in which the kernel chooses. */
enum { RANK_MADE_UP, RANK_EUI64, RANK_NGUID, RANK_UUID };

static void add_uuid(struct identity_wwids *wwids, const uint8_t *id)
{
	char text[48];
	size_t used = (size_t)snprintf(text, sizeof(text), "uuid.");

	for (size_t i = 0; i < NVME_NIDT_UUID_LEN; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
	identity_wwids_add(wwids, RANK_UUID, text);
}

static void add_descriptors(struct identity_wwids *wwids, const uint8_t *list)
{
	size_t at = 0;

	while (at + 4 <= NVME_IDENTIFY_DATA_SIZE && list[at + 1]) {
		const uint8_t *id = list + at + 4;
		uint8_t kind = list[at], length = list[at + 1];

		if (at + 4 + length > NVME_IDENTIFY_DATA_SIZE)
			return;
		if (kind == NVME_NIDT_UUID && length == NVME_NIDT_UUID_LEN)
			add_uuid(wwids, id);
		else if (kind == NVME_NIDT_NGUID && length == NVME_NIDT_NGUID_LEN)
			identity_wwids_add_hex(wwids, RANK_NGUID, "eui.", id, length);
		else if (kind == NVME_NIDT_EUI64 && length == NVME_NIDT_EUI64_LEN)
			identity_wwids_add_hex(wwids, RANK_EUI64, "eui.", id, length);
		at += 4 + (size_t)length;
	}
}

static size_t padded_length(const char *field, size_t length)
{
	while (length && (field[length - 1] == ' ' || field[length - 1] == '\0'))
		length--;
	return length;
}

static size_t print_hex(char *out, size_t size, const char *field, size_t length)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < length && used + 3 <= size; i++)
		used += (size_t)snprintf(out + used, size - used, "%02x", (unsigned)(uint8_t)field[i]);
	return used;
}

/* What the kernel makes up for a namespace without a name, or whose name it knows to be false. */
static void add_made_up(struct identity_wwids *wwids, const struct nvme_id_ctrl *ctrl, uint32_t nsid)
{
	char text[IDENTITY_TEXT_MAX], serial[2 * sizeof(ctrl->sn) + 1], model[2 * sizeof(ctrl->mn) + 1];

	(void)print_hex(serial, sizeof(serial), ctrl->sn, padded_length(ctrl->sn, sizeof(ctrl->sn)));
	(void)print_hex(model, sizeof(model), ctrl->mn, padded_length(ctrl->mn, sizeof(ctrl->mn)));
	(void)snprintf(text, sizeof(text), "nvme.%04x-%s-%s-%08x", le16toh(ctrl->vid), serial, model, nsid);
	identity_wwids_add(wwids, RANK_MADE_UP, text);
}

int identity_nvme_decode(const struct nvme_id_ctrl *ctrl, const struct nvme_id_ns *ns,
	const uint8_t *descriptors, uint32_t nsid, struct identity *out, struct identity_wwids *wwids)
{
	char serial[32], model[64];

	identity_serial(serial, sizeof(serial), ctrl->sn, sizeof(ctrl->sn));
	identity_text(model, sizeof(model), ctrl->mn, sizeof(ctrl->mn));
	if (!serial[0] && !model[0])
		return -ENODATA;
	(void)snprintf(out->serial, sizeof(out->serial), "%s", serial);
	(void)snprintf(out->model, sizeof(out->model), "%s", model);
	identity_text(out->firmware, sizeof(out->firmware), ctrl->fr, sizeof(ctrl->fr));
	(void)snprintf(out->source, sizeof(out->source), "nvme identify");
	if (descriptors)
		add_descriptors(wwids, descriptors);
	if (ns) {
		identity_wwids_add_hex(wwids, RANK_NGUID, "eui.", ns->nguid, sizeof(ns->nguid));
		identity_wwids_add_hex(wwids, RANK_EUI64, "eui.", ns->eui64, sizeof(ns->eui64));
	}
	if (serial[0])
		add_made_up(wwids, ctrl, nsid);
	return 0;
}

/* Of an Identify call: 0; -ENOTTY when it is not allowed to us; else what the drive or the kernel said. */
static int judge(int rc, const char *command, char *why)
{
	if (rc == 0)
		return 0;
	if (rc < 0)
		return errno == EPERM || errno == EACCES ? -ENOTTY : identity_fail(errno, command, why);
	(void)snprintf(
		why, IDENTITY_WHY_MAX, "the drive refuses %s: %s", command, nvme_status_to_string(rc, false));
	return -EIO;
}

/* Drives of before 1.3, and some of after it, have none: not an error. */
static int read_descriptors(int fd, uint32_t nsid, uint8_t *list, bool *has_them, char *why)
{
	int rc = nvme_identify_ns_descs(fd, nsid, (struct nvme_ns_id_desc *)(void *)list);

	*has_them = rc == 0;
	if (rc > 0 && ((rc & 0x7ff) == NVME_SC_INVALID_OPCODE || (rc & 0x7ff) == NVME_SC_INVALID_FIELD))
		return 0;
	return judge(rc, "Identify of the namespace's descriptors", why);
}

int identity_nvme_read(int fd, struct identity *out, struct identity_wwids *wwids, char *why)
{
	struct nvme_id_ctrl ctrl = { 0 };
	struct nvme_id_ns ns = { 0 };
	uint8_t descriptors[NVME_IDENTIFY_DATA_SIZE] __attribute__((aligned(8))) = { 0 };
	bool has_descriptors = false;
	uint32_t nsid = 0;
	int rc = judge(nvme_get_nsid(fd, &nsid), "for its namespace", why);

	if (rc == 0)
		rc = judge(nvme_identify_ctrl(fd, &ctrl), "Identify Controller", why);
	if (rc == 0)
		rc = judge(nvme_identify_ns(fd, nsid, &ns), "Identify Namespace", why);
	if (rc == 0 && le32toh(ctrl.ver) >= NVME_1_3)
		rc = read_descriptors(fd, nsid, descriptors, &has_descriptors, why);
	if (rc < 0)
		return rc;
	if (identity_nvme_decode(&ctrl, &ns, has_descriptors ? descriptors : NULL, nsid, out, wwids) == 0)
		return 0;
	/* As a controller does while it resets. */
	(void)snprintf(why, IDENTITY_WHY_MAX, "Identify Controller has neither serial nor model");
	return -EIO;
}
