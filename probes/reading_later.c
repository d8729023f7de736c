/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers that are not there yet: whoever brings one defines it, and the weak one below gives way. */
#include <errno.h>

#include "probes/reading.h"

#define LATER __attribute__((weak))

LATER int reading_decode_ata_identify(struct reading *reading, const uint8_t *page, size_t length)
{
	(void)reading, (void)page, (void)length;
	return -ENOTSUP;
}

LATER int reading_decode_ata_smart(struct reading *reading, const uint8_t *data, const uint8_t *thresholds)
{
	(void)reading, (void)data, (void)thresholds;
	return -ENOTSUP;
}

LATER int reading_decode_ata_statistics(
	struct reading *reading, unsigned page_number, const uint8_t *page, size_t length)
{
	(void)reading, (void)page_number, (void)page, (void)length;
	return -ENOTSUP;
}

LATER int reading_decode_smartctl_json(struct reading *reading, const char *json, size_t length)
{
	(void)reading, (void)json, (void)length;
	return -ENOTSUP;
}

LATER int reading_decode_atasmart_blob(struct reading *reading, const uint8_t *blob, size_t length)
{
	(void)reading, (void)blob, (void)length;
	return -ENOTSUP;
}

LATER int reading_read_ata(const char *node, struct reading *out)
{
	(void)node;
	reading_init(out);
	return -ENOTSUP;
}

LATER int reading_read_smartctl(const char *node, const char *type, struct reading *out)
{
	(void)node, (void)type;
	reading_init(out);
	return -ENOTSUP;
}
