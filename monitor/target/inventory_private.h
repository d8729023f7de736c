/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inventory_private.h - what listing and finding have in common. */
#ifndef DRIVESOAK_INVENTORY_PRIVATE_H
#define DRIVESOAK_INVENTORY_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#define INVENTORY_NAME_MAX   32
#define INVENTORY_FOLDER_MAX 1024

/* Kernel names of the disks of inventory_read(), in its order; free() the list. 0 or -errno. */
int inventory_names(const char *root, char (**out)[INVENTORY_NAME_MAX], size_t *count);
/* By its name: dm, md, memory, CD and the like. */
bool inventory_is_no_disk(const char *name);
/* A card reader without a card, a loop device without a file, or not there. */
bool inventory_is_empty(const char *root, const char *name);

#endif
