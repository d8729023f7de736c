/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_value.h - one value of the file: from text into its member of struct config and back. Knows the
 * types of config_keys.h and nothing of files, lines and other keys. @base is the struct that the row's
 * offset counts from. */
#ifndef DRIVESOAK_CONFIG_VALUE_H
#define DRIVESOAK_CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "config/config_keys.h"

/* Put @items (one, or the items of a list) into the member, which must be zero or hold an earlier value.
 * With @accept_later also values of features that do not exist yet. 0, -ENOMEM, or -EINVAL with the member
 * as it was and a sentence in @wrong that follows "key: ". */
int config_value_set(const struct config_key *key, const char *const *items, size_t count, bool accept_later,
	void *base, struct text *wrong);
int config_value_set_default(const struct config_key *key, void *base);
void config_value_free(const struct config_key *key, void *base);

/* Canonical, as in the file without quotes ("16KiB"); of a list all of it as it stands in the file. */
void config_value_text(const struct config_key *key, const void *base, struct text *out);
/* As it stands in the file. */
void config_value_literal(const struct config_key *key, const void *base, struct text *out);
/* The value alone, in base units; null when it is not given. Not for lists. */
void config_value_json(const struct config_key *key, const void *base, struct text *out);

#endif
