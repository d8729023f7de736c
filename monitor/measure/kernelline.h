/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernelline.h - what a line of the kernel's log says of a drive: whether it names the drive, and which of the few
 * things it tells that can make a drive slow. Pure; any thread. */
#ifndef DRIVESOAK_KERNELLINE_H
#define DRIVESOAK_KERNELLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNELLINE_TEXT_MAX  208
#define KERNELLINE_NAME_MAX  32
#define KERNELLINE_NAMES_MAX 8

enum kernelline_word {
	KERNELLINE_NONE,    /* nothing that matters here */
	KERNELLINE_RESET,   /* the device, its controller or its link was reset, or given up */
	KERNELLINE_TIMEOUT, /* a command did not come back and is aborted */
	KERNELLINE_ERROR,   /* a command failed */
	KERNELLINE_LINK,    /* the link is down, slower, or garbles; NCQ was switched off */
	KERNELLINE_AER,	    /* errors on PCI Express */
	KERNELLINE_POLLED, /* it was done, but the interrupt got lost: the host's or the controller's matter */
	KERNELLINE_HOST,   /* the machine itself stood still or was slowed; names no drive */
	KERNELLINE_WORD_COUNT
};

struct kernelline {
	uint64_t sequence, mono_us; /* of the kernel's log; its clock began with the machine */
	unsigned level;		    /* 0..7, 3 is an error */
	unsigned facility;	    /* 0: the kernel itself; else some program wrote it */
	char text[KERNELLINE_TEXT_MAX];
};

/* A record as read from /dev/kmsg: "6,1234,5678901,-;text\n KEY=value\n". 0, or -EINVAL with @out untouched. */
int kernelline_parse(const char *record, struct kernelline *out);

/* One line of @text as it is kept, in @out of KERNELLINE_TEXT_MAX: what would steer a terminal is a space. */
void kernelline_clean(const char *text, char *out);

enum kernelline_word kernelline_word(const char *text);

/* What the kernel calls one disk and what lies between it and the machine: "sda", "2:0:0:0", "ata3", "ata3.00",
 * "nvme0", PCI addresses. The first is the disk's. */
struct kernelline_names {
	char name[KERNELLINE_NAMES_MAX][KERNELLINE_NAME_MAX];
	unsigned count;
};

/* One that is empty, too long, there already or more than there is room for is left out. */
void kernelline_add_name(struct kernelline_names *names, const char *name);
/* By whole names: "sda" also means its partition sda1, but neither sdaa nor dm-sda. */
bool kernelline_concerns(const char *text, const struct kernelline_names *names);

#endif
