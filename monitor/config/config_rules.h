/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_rules.h - what one value must be beyond its type and range. Pure; used by the rows of
 * config_keys.c. Text rules return NULL when the text is fine, "" when the row's own sentence says it all,
 * or what is wrong. */
#ifndef DRIVESOAK_CONFIG_RULES_H
#define DRIVESOAK_CONFIG_RULES_H

#include <stdbool.h>
#include <stdint.h>

bool config_rules_power_of_two(uint64_t number);
bool config_rules_whole_seconds(uint64_t ns);

const char *config_rules_path(const char *text);
const char *config_rules_device(const char *text);
const char *config_rules_listen(const char *text);
const char *config_rules_base_path(const char *text);
const char *config_rules_host(const char *text);
const char *config_rules_label(const char *text);
const char *config_rules_include(const char *text);
const char *config_rules_probe(const char *text);
const char *config_rules_repeat(const char *text);
const char *config_rules_url(const char *text);
const char *config_rules_mail(const char *text);
const char *config_rules_server(const char *text);
const char *config_rules_argument(const char *text);

/* Title of a drive or notify section: letters, digits, . _ -, at most CONFIG_NAME_MAX, not starting with .
 * or -. */
bool config_rules_is_title(const char *text);
bool config_rules_is_loop_device(const char *path);
/* @listen is a valid listen address: 127.0.0.0/8 or ::1. */
bool config_rules_is_loopback(const char *listen);
/* Same place by name: runs of slashes, "/./" and a slash at the end say nothing. */
bool config_rules_is_same_path(const char *a, const char *b);

#endif
