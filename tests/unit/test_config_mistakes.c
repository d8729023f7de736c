/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Broken files: each with just the lines it must be refused with. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config_fixture.h"

struct broken {
	const char *text;
	const char *mistakes; /* of t.conf, without that name in front of each line */
};

static void check_rows(const struct broken *row, size_t count, bool accept_later)
{
	for (size_t i = 0; i < count; i++) {
		struct text expected = TEXT_INIT;
		const char *line = row[i].mistakes;

		while (*line) {
			size_t length = strcspn(line, "\n");

			text_addf(&expected, "t.conf:%.*s\n", (int)length, line);
			line += length + (line[length] == '\n');
		}
		fixture_check_mistakes(row[i].text, accept_later, text_string(&expected));
		text_fini(&expected);
	}
}

/* A drive with more keys, on line 1. */
#define WITH(keys) "drive \"d\" { directory = \"/d\" " keys " }\n"

#define SIZE_WORDS(text, from, to, more)                                                                     \
	"\"" text "\" is not allowed; allowed is a size from " from " to " to more

static void test_values(void **state)
{
	static const struct broken rows[] = {
		{ WITH("block-size = \"16k\""),
			"1: block-size: " SIZE_WORDS("16k", "4KiB", "1MiB", ", a power of two") },
		{ WITH("block-size = \"16\""),
			"1: block-size: " SIZE_WORDS("16", "4KiB", "1MiB", ", a power of two") },
		{ WITH("block-size = 24KiB"),
			"1: block-size: " SIZE_WORDS("24KiB", "4KiB", "1MiB", ", a power of two") },
		{ WITH("block-size = 2KiB"),
			"1: block-size: " SIZE_WORDS("2KiB", "4KiB", "1MiB", ", a power of two") },
		{ WITH("block-size = 2MiB"),
			"1: block-size: " SIZE_WORDS("2MiB", "4KiB", "1MiB", ", a power of two") },
		{ WITH("block-size = \"\""),
			"1: block-size: " SIZE_WORDS("", "4KiB", "1MiB", ", a power of two") },
		{ WITH("block-size = \"0.1KiB\""),
			"1: block-size: " SIZE_WORDS("0.1KiB", "4KiB", "1MiB", ", a power of two") },
		{ WITH("size = 100GiBs"),
			"1: size: " SIZE_WORDS("100GiBs", "1MiB", "1024TiB", ", or \"\" for none") },
		{ WITH("size = 99999999999999999999TiB"), "1: size: " SIZE_WORDS("99999999999999999999TiB",
								  "1MiB", "1024TiB", ", or \"\" for none") },
		{ WITH("fill = 96%"),
			"1: fill: \"96%\" is not allowed; allowed is a percentage from 1% to 95%" },
		{ WITH("fill = 0.5%"),
			"1: fill: \"0.5%\" is not allowed; allowed is a percentage from 1% to 95%" },
		{ WITH("fill = 75"),
			"1: fill: \"75\" is not allowed; allowed is a percentage from 1% to 95%" },
		{ WITH("files = 0"), "1: files: \"0\" is not allowed; allowed is a number from 1 to 4096" },
		{ WITH("files = 4097"),
			"1: files: \"4097\" is not allowed; allowed is a number from 1 to 4096" },
		{ WITH("files = 0x50"),
			"1: files: \"0x50\" is not allowed; allowed is a number from 1 to 4096" },
		{ WITH("files = -1"), "1: files: \"-1\" is not allowed; allowed is a number from 1 to 4096" },
		{ WITH("files = 1.0"),
			"1: files: \"1.0\" is not allowed; allowed is a number from 1 to 4096" },
		{ WITH("threads = 257"),
			"1: threads: \"257\" is not allowed; allowed is a number from 1 to 256" },
		{ WITH("threads = auto"),
			"1: threads: \"auto\" is not allowed; allowed is a number from 1 to 256" },
		{ WITH("queue-depth = 0"), "1: queue-depth: \"0\" is not allowed; allowed is a number from 1 "
					   "to 16384, or \"auto\"" },
		{ WITH("queue-depth = Auto"), "1: queue-depth: \"Auto\" is not allowed; allowed is a number "
					      "from 1 to 16384, or \"auto\"" },
		{ WITH("discard = maybe"), "1: discard: \"maybe\" is not allowed; allowed is true or false" },
		{ WITH("discard = 1"), "1: discard: \"1\" is not allowed; allowed is true or false" },
		{ WITH("engine = aio"), "1: engine: \"aio\" is not allowed; allowed is \"auto\", "
					"\"io_uring\", \"libaio\" or \"null\"" },
		{ WITH("payload = \"Random\""),
			"1: payload: \"Random\" is not allowed; allowed is \"random\" or \"zeros\"" },
		{ WITH("duration = 50"),
			"1: duration: \"50\" is not allowed; allowed is a duration from 0 to 3650d" },
		{ WITH("duration = \"50 hours\""),
			"1: duration: \"50 hours\" is not allowed; allowed is a duration from 0 to 3650d" },
		{ WITH("settle-time = 8d"),
			"1: settle-time: \"8d\" is not allowed; allowed is a duration from 0 to 7d" },
		{ WITH("max-errors = \"1000 \""),
			"1: max-errors: \"1000 \" is not allowed; allowed is a number from 1 to 1000000000" },
		{ WITH("price = \"450USD\""), "1: price: \"450USD\" is not allowed; allowed is an amount, a "
					      "space and a currency of three capital "
					      "letters, such as \"450 USD\", or \"\" for none" },
		{ WITH("directory = srv"), "1: directory: is set twice; it stands in line 1 too" },
		{ "drive d { directory = srv }",
			"1: directory: \"srv\" must be an absolute path: it begins with /" },
		{ "sample-interval = 0.5s\n" DRIVE, "1: sample-interval: \"0.5s\" is not allowed; allowed is "
						    "a duration from 1s to 5min, in whole "
						    "seconds" },
		{ "sample-interval = 1500ms\n" DRIVE, "1: sample-interval: \"1500ms\" is not allowed; "
						      "allowed is a duration from 1s to 5min, in whole "
						      "seconds" },
		{ "sample-interval = 301s\n" DRIVE, "1: sample-interval: \"301s\" is not allowed; allowed is "
						    "a duration from 1s to 5min, in whole "
						    "seconds" },
		{ "state-directory = ~/state\n" DRIVE,
			"1: state-directory: a value with such characters needs quotes" },
		{ "state-directory = \"~/state\"\n" DRIVE,
			"1: state-directory: \"~/state\" must be an absolute path: it begins with /" },
		{ "runtime-directory = \"\"\n" DRIVE,
			"1: runtime-directory: \"\" must be an absolute path: it begins with /" },
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows), false);
}

#define LISTEN_WORDS                                                                                         \
	" is not allowed; allowed is a list of numeric addresses with a port, such as \"127.0.0.1:8734\" "   \
	"or "                                                                                                \
	"\"[::1]:8734\""

static void test_web(void **state)
{
	static const struct broken rows[] = {
		{ "web { listen = { \"localhost:8734\" } }\n" DRIVE,
			"1: listen: \"localhost:8734\"" LISTEN_WORDS },
		{ "web { listen = { \"127.0.0.1\" } }\n" DRIVE, "1: listen: \"127.0.0.1\"" LISTEN_WORDS },
		{ "web { listen = { \"127.0.0.1:65536\" } }\n" DRIVE,
			"1: listen: \"127.0.0.1:65536\"" LISTEN_WORDS },
		{ "web { listen = { \"127.0.0.1:65536\" } }\n" DRIVE,
			"1: listen: \"127.0.0.1:65536\"" LISTEN_WORDS },
		{ "web { listen = { \"127.0.0.1:80x\" } }\n" DRIVE,
			"1: listen: \"127.0.0.1:80x\"" LISTEN_WORDS },
		{ "web { listen = { \"127.1:80\" } }\n" DRIVE, "1: listen: \"127.1:80\"" LISTEN_WORDS },
		{ "web { listen = { \"::1:80\" } }\n" DRIVE, "1: listen: \"::1:80\"" LISTEN_WORDS },
		{ "web { listen = { \"[::1]\" } }\n" DRIVE, "1: listen: \"[::1]\"" LISTEN_WORDS },
		{ "web { listen = { \":80\" } }\n" DRIVE, "1: listen: \":80\"" LISTEN_WORDS },
		{ "web { listen = { \"127.0.0.1:1\", \"127.0.0.1:1\" } }\n" DRIVE,
			"1: listen: \"127.0.0.1:1\" is there twice" },
		{ "web { listen = { \"127.0.0.1:1\", \"[::]:80\" } }\n" DRIVE,
			"1: listen: \"[::]:80\" is beyond loopback, which needs token-file; listen on "
			"127.0.0.1 or [::1] "
			"behind a reverse proxy or an ssh tunnel" },
		{ "web {\n listen = 192.168.0.1:80\n token-file = /etc/token\n}\n" DRIVE,
			"3: token-file: is not in this version yet; only \"\" (leave it out) is accepted" },
		{ "web { base-path = \"/soak\" }\n" DRIVE,
			"1: base-path: \"/soak\" must begin and end with /" },
		{ "web { base-path = \"\" }\n" DRIVE, "1: base-path: \"\" must begin and end with /" },
		{ "web { base-path = \"/a b/\" }\n" DRIVE,
			"1: base-path: \"/a b/\" is not allowed; allowed is a path of letters, digits and . "
			"_ ~ - that begins "
			"and ends with /" },
		{ "web { base-path = \"//evil.example/\" }\n" DRIVE,
			"1: base-path: \"//evil.example/\" is not allowed; allowed is a path of letters, "
			"digits and . _ ~ - "
			"that begins and ends with /" },
		{ "web { allowed-hosts = { \"a\", \"b c\" } }\n" DRIVE,
			"1: allowed-hosts: \"b c\" is not allowed; allowed is a list of host names, with a "
			"port or without" },
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows), false);
}

static void test_names_and_structure(void **state)
{
	static const struct broken rows[] = {
		{ "", "1: drive: there is no drive yet; add one, such as: drive \"NAME\" { directory = "
		      "\"/srv/NAME\" }" },
		{ "blocksize = 1\n" DRIVE, "1: blocksize: is no key outside sections; did you mean "
					   "block-size? It belongs into drive" },
		{ "sample_interval = 1s\n" DRIVE,
			"1: sample_interval: is no key outside sections; did you mean sample-interval?" },
		{ "colour = 1\n" DRIVE, "1: colour: is no key outside sections; see drivesoak.conf(5)" },
		{ WITH("listen = x"), "1: listen: is no key of drive; it belongs into web" },
		{ WITH("block_size = 16KiB"), "1: block_size: is no key of drive; did you mean block-size?" },
		{ WITH("min-rate = \"\""), "1: min-rate: is no key of drive; it belongs into slo" },
		{ WITH("sample-interval = 1s"), "1: sample-interval: is no key of drive; it belongs into the "
						"top of the file, outside every section" },
		{ WITH("slo = 1"), "1: slo: is a section, not a key; write slo { ... }" },
		{ "drive = d\n" DRIVE, "1: drive: is a section, not a key; write drive \"NAME\" { ... }" },
		{ "slo { }\n" DRIVE, "1: slo: is no section here; it belongs into a drive section" },
		{ "drives \"x\" { a = { b } c { } }\n" DRIVE,
			"1: drives: is no section here; did you mean drive?" },
		{ "cloud { }\n" DRIVE, "1: cloud: is no section here; see drivesoak.conf(5)" },
		{ "cloud {\n" DRIVE, "1: cloud: is no section here; see drivesoak.conf(5)\n"
				     "1: cloud: the section that begins here is not closed; a } is missing\n"
				     "1: drive: there is no drive yet; add one, such as: drive \"NAME\" { "
				     "directory = \"/srv/NAME\" }" },
		{ WITH("files { 3 }"), "1: files: is a key, not a section; write files = VALUE" },
		{ "sample-interval = 1s\nsample-interval = 1s\n" DRIVE,
			"2: sample-interval: is set twice; it stands in line 1 too" },
		{ WITH("files = 1\nfiles = 2"), "2: files: is set twice; it stands in line 1 too" },
		{ WITH("slo { min-rate = \"\" }\nslo { min-rate = \"\" }"),
			"2: min-rate: is set twice; it stands in line 1 too" },
		{ "web { base-path = / }\nweb { base-path = / }\n" DRIVE,
			"2: base-path: is set twice; it stands in line 1 too" },
		{ DRIVE "drive d { directory = /e }",
			"2: drive: \"d\" is there twice; the name is taken in t.conf:1" },
		{ "drive { directory = /d }", "1: drive: has no name; write drive \"NAME\" { ... }" },
		{ "drive \"\" { directory = /d }", "1: drive: \"\" is no name; allowed are at most 64 "
						   "letters, digits and . _ -, not beginning with . or "
						   "-" },
		{ "drive \"../d\" { directory = /d }", "1: drive: \"../d\" is no name; allowed are at most "
						       "64 letters, digits and . _ -, not beginning with "
						       ". or -" },
		{ "drive \"-d\" { directory = /d }", "1: drive: \"-d\" is no name; allowed are at most 64 "
						     "letters, digits and . _ -, not beginning with . "
						     "or -" },
		{ "drive \"a b\" { directory = /d }", "1: drive: \"a b\" is no name; allowed are at most 64 "
						      "letters, digits and . _ -, not beginning with . "
						      "or -" },
		{ "drive \"a23456789012345678901234567890123456789012345678901234567890123456\" { directory "
		  "= /d }",
			"1: drive: \"a23456789012345678901234567890123456789012345678901234567890123456\" is "
			"no name; allowed "
			"are at most 64 letters, digits and . _ -, not beginning with . or -" },
		{ "web \"x\" { }\n" DRIVE, "1: web: this section has no name; write web { ... }" },
		{ "drive \"d\" {\n directory = /d\n", "1: drive: the section that begins here is not closed; "
						      "a } is missing at the end of the file" },
		{ "web {\n listen = { }\n\n" DRIVE,
			"1: web: the section that begins here is not closed; a } is missing before line 4" },
		{ "drive a {\n directory = /a\n slo {\n" DRIVE "threads = x\n",
			"1: drive: the section that begins here is not closed; a } is missing before line 4\n"
			"3: slo: the section that begins here is not closed; a } is missing before line 4\n"
			"5: threads: is no key outside sections; it belongs into drive" },
		{ DRIVE "}\n",
			"2: syntax: } closes nothing; there is one too many, or a { is missing before it" },
		{ "drive d\n directory = /d\n}\n",
			"1: drive: is neither KEY = VALUE nor the begin of a section; a value with a space "
			"needs quotes\n"
			"1: drive: there is no drive yet; add one, such as: drive \"NAME\" { directory = "
			"\"/srv/NAME\" }\n"
			"2: directory: is no key outside sections; it belongs into drive\n"
			"3: syntax: } closes nothing; there is one too many, or a { is missing before it" },
		{ "sample-interval \"1s\"\n" DRIVE,
			"1: sample-interval: = and a value are missing; write sample-interval = VALUE" },
		{ "sample-interval\n" DRIVE,
			"1: sample-interval: = and a value are missing; write sample-interval = VALUE" },
		{ "sample-interval =\n" DRIVE, "1: sample-interval: has no value behind =" },
		{ "sample-interval = = 1s\n" DRIVE, "1: sample-interval: has no value behind =" },
		{ WITH("files ="), "1: files: has no value behind =" },
		{ WITH("rate = 200 MiB"),
			"1: MiB: is neither KEY = VALUE nor the begin of a section; a value with a space "
			"needs quotes\n"
			"1: rate: " SIZE_WORDS("200", "4KiB", "1TiB", ", or \"\" for none") },
		{ "web { listen += { \"[::1]:1\" } }\n" DRIVE,
			"1: listen: += is not for this file; write all of it behind =" },
		{ "include(\"x\")\n" DRIVE, "1: include: = and a value are missing; write include = VALUE" },
		{ "= 5\n" DRIVE,
			"1: syntax: = is not expected here; a line is KEY = VALUE or begins a section" },
		{ "\"files\" = 5\n" DRIVE, "1: syntax: \"files\" is not expected here; a line is KEY = VALUE "
					   "or begins a section" },
		{ DRIVE ";\n",
			"2: syntax: ; is not expected here; a line is KEY = VALUE or begins a section" },
		{ DRIVE "caf\xc3\xa9 = 1\n", "2: caf: is neither KEY = VALUE nor the begin of a section; a "
					     "value with a space needs quotes" },
		{ DRIVE "/* open\n", "2: syntax: the comment that begins here is not closed; */ is missing" },
		{ "drive d { directory = /d\n/* }\n",
			"2: syntax: the comment that begins here is not closed; */ is missing" },
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows), false);
}

static void test_texts_and_lists(void **state)
{
	static const struct broken rows[] = {
		{ WITH("label = \"${HOME}\""), "1: label: variables of the environment are not read; write "
					       "\\${ for these characters themselves" },
		{ WITH("label = \"a${HOME\""), "1: label: variables of the environment are not read; write "
					       "\\${ for these characters themselves" },
		{ WITH("label = ${HOME}"), "1: label: a value with such characters needs quotes" },
		{ WITH("label = \"a\\nb\""),
			"1: label: behind \\ only \" \\ $ and ' are allowed in double quotes" },
		{ WITH("label = \"\\x41\\0\""),
			"1: label: behind \\ only \" \\ $ and ' are allowed in double quotes" },
		{ WITH("label = \"a\tb\""), "1: label: a control character is in the text (a tab, or the end "
					    "of a DOS line inside quotes)" },
		{ WITH("label = \"open\n files = 1"),
			"1: label: the text is not closed: \" is missing at its end" },
		{ WITH("label = 'open\n files = 1"),
			"1: label: the text is not closed: ' is missing at its end" },
		{ WITH("label = \"open\\\"\n"),
			"1: label: the text is not closed: \" is missing at its end" },
		{ WITH("label = \"two\nlines\"\n"),
			"1: label: the text is not closed: \" is missing at its end\n"
			"2: lines: is neither KEY = VALUE nor the begin of a section; a value with a space "
			"needs quotes" },
		{ "drive \"d {\n directory = /d\n}\n",
			"1: drive: is neither KEY = VALUE nor the begin of a section; a value with a space "
			"needs quotes\n"
			"1: drive: there is no drive yet; add one, such as: drive \"NAME\" { directory = "
			"\"/srv/NAME\" }\n"
			"2: directory: is no key outside sections; it belongs into drive\n"
			"3: syntax: } closes nothing; there is one too many, or a { is missing before it" },
		{ WITH("files = 4#four\n"),
			"1: files: put the value into quotes, or a space before the comment" },
		{ WITH("label = http://x\n"),
			"1: label: put the value into quotes, or a space before the comment" },
		{ WITH("files = { 1 }"), "1: files: takes one value, not a list" },
		{ "web {\n listen = { \"127.0.0.1:1\" \"127.0.0.1:2\" }\n base-path = x\n}\n" DRIVE,
			"2: listen: the items of the list need a comma between them\n"
			"3: base-path: \"x\" must begin and end with /" },
		{ "web {\n listen = { \"127.0.0.1:1\"\n  \"127.0.0.1:2\"\n }\n base-path = x\n}\n" DRIVE,
			"2: listen: the items of the list need a comma between them\n"
			"5: base-path: \"x\" must begin and end with /" },
		{ "web {\n listen = { \"127.0.0.1:1\"\n base-path = x\n}\n" DRIVE,
			"2: listen: the list that begins here is not closed; a } is missing\n"
			"3: base-path: \"x\" must begin and end with /" },
		{ "web {\n listen = { , }\n}\n" DRIVE,
			"2: listen: the items of the list need a comma between them" },
		{ "web {\n listen = { { \"127.0.0.1:1\" } }\n}\n" DRIVE,
			"2: listen: the items of the list need a comma between them" },
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows), false);
}

static void test_between_keys(void **state)
{
	static const struct broken rows[] = {
		{ "drive d { }", "1: drive: \"d\" has no target; give it a directory" },
		{ "drive d { directory = \"\" }", "1: drive: \"d\" has no target; give it a directory" },
		{ WITH("fill = 75%\nsize = 1GiB"),
			"2: size: fill and size exclude each other; take one away" },
		{ WITH("size = 1GiB\nfill = 75%"),
			"2: fill: fill and size exclude each other; take one away" },
		{ WITH("threads = 16\nqueue-depth = 8"), "2: queue-depth: 8 is less than threads, which is "
							 "16: each thread needs a request in flight" },
		{ WITH("\nqueue-depth = 4"), "2: queue-depth: 4 is less than threads, which is 8: each "
					     "thread needs a request in flight" },
		{ WITH("size = 1MiB files = 65"),
			"1: size: is less than one block in each of 65 files; raise it or lower files" },
		{ DRIVE "drive e {\n directory = \"//d/./\" }",
			"3: directory: \"//d/./\" is that of drive \"d\" too (t.conf:1); each drive needs "
			"its own" },
		{ DRIVE "drive e { directory = /d }\ndrive f { directory = /d/ }",
			"2: directory: \"/d\" is that of drive \"d\" too (t.conf:1); each drive needs its "
			"own\n"
			"3: directory: \"/d/\" is that of drive \"d\" too (t.conf:1); each drive needs its "
			"own" },
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows), false);
}

#define KERNEL_NAME_WORDS                                                                                    \
	" is a kernel name that may be another drive after the next start; give its link in "                \
	"/dev/disk/by-id (see: ls -l "                                                                       \
	"/dev/disk/by-id)"
#define LATER "is not in this version yet; only "

static void test_features_of_later_versions(void **state)
{
	static const struct broken rows[] = {
		{ "drive d {\n device = /dev/sda\n}",
			"2: device: \"/dev/sda\"" KERNEL_NAME_WORDS "\n"
			"2: device: needs serial or wwid beside it, so that no other drive is written" },
		{ WITH("workload = observe"),
			"1: workload: " LATER
			"\"random-write\" or \"random-read\" or \"random-mixed\" is accepted" },
		{ WITH("probe = nvm"), "1: probe: \"nvm\" is not allowed; allowed is \"auto\", \"nvme\", "
				       "\"ata\", \"none\" or "
				       "\"smartctl:TYPE\" such as \"smartctl:megaraid,3\"" },
		{ "alerts {\nrepeat = 4h\ndigest = 1min }\n" DRIVE,
			"2: repeat: " LATER "\"once\" is accepted\n"
			"3: digest: " LATER "\"30s\" is accepted" },
		{ "notify ops { webhook = x }\n" DRIVE,
			"1: notify: this section is not in this version yet; leave it out\n"
			"1: webhook: \"x\" is not allowed; allowed is a URL of http or https, or \"\" for "
			"none" },
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows), false);
}

#define DEVICE(path, more) "drive d { device = \"" path "\" " more " }"
#define DEVICE_WORDS                                                                                         \
	" is not allowed; allowed is a link in /dev/disk/by-id or /dev/disk/by-path, or /dev/loopN, or "     \
	"\"\" for none"

/* What will be said once the features exist. */
static void test_devices_and_the_rest(void **state)
{
	static const struct broken rows[] = {
		{ DEVICE("/dev/nvme0n1", "serial = S"), "1: device: \"/dev/nvme0n1\"" KERNEL_NAME_WORDS },
		{ DEVICE("/dev/dm-3", "serial = S"), "1: device: \"/dev/dm-3\"" KERNEL_NAME_WORDS },
		{ DEVICE("/dev/loop", "serial = S"), "1: device: \"/dev/loop\"" KERNEL_NAME_WORDS },
		{ DEVICE("/dev/disk/by-uuid/x", "serial = S"),
			"1: device: \"/dev/disk/by-uuid/x\"" DEVICE_WORDS },
		{ DEVICE("/dev/disk/by-id/", "serial = S"), "1: device: \"/dev/disk/by-id/\"" DEVICE_WORDS },
		{ DEVICE("/dev/disk/by-id/../../sda", "serial = S"),
			"1: device: \"/dev/disk/by-id/../../sda\"" DEVICE_WORDS },
		{ DEVICE("/srv/disk.img", "serial = S"), "1: device: \"/srv/disk.img\"" DEVICE_WORDS },
		{ DEVICE("/dev/disk/by-id/x", ""),
			"1: device: needs serial or wwid beside it, so that no other drive is written" },
		{ DEVICE("/dev/loop7", "serial = S"), "1: serial: a loop device has no serial; write serial "
						      "= \"loop:FILE\" with the absolute path of its "
						      "backing file" },
		{ DEVICE("/dev/loop7", "serial = \"loop:disk.img\""),
			"1: serial: a loop device has no serial; write serial = \"loop:FILE\" with the "
			"absolute path of its "
			"backing file" },
		{ DEVICE("/dev/disk/by-id/x", "serial = \"loop:/disk.img\""),
			"1: serial: \"loop:FILE\" is for /dev/loopN only; give the serial number of the "
			"device" },
		{ DEVICE("/dev/disk/by-id/x", "serial = S\ndirectory = /d"),
			"2: directory: a drive has a directory or a device, not both; take one away" },
		{ WITH("serial = S\nwwid = W"),
			"1: serial: goes with device only\n2: wwid: goes with device only" },
		{ DEVICE("/dev/loop7",
			  "serial = loop:/a") "\ndrive e { device = /dev/loop7 serial = loop:/a }",
			"2: device: \"/dev/loop7\" is that of drive \"d\" too (t.conf:1); each drive needs "
			"its own" },
		{ WITH("read-percent = 50"), "1: read-percent: goes with workload = \"random-mixed\" only" },
		{ WITH("max-temperature = 80"), "1: max-temperature: \"80\" is not allowed; allowed is a "
						"temperature from 30C to 120C, or \"auto\"" },
		{ WITH("rate = 200MiB/s"),
			"1: rate: " SIZE_WORDS("200MiB/s", "4KiB", "1TiB", ", or \"\" for none") },
		{ WITH("probe = \"smartctl:a b\""), "1: probe: \"smartctl:a b\" is not allowed; allowed is "
						    "\"auto\", \"nvme\", \"ata\", \"none\" or "
						    "\"smartctl:TYPE\" such as \"smartctl:megaraid,3\"" },
		{ "alerts { collapse-below = 60%\nrecover-above = 60% }\n" DRIVE,
			"2: recover-above: must be more than collapse-below, or a collapse would end as it "
			"begins" },
		{ "alerts {\ncollapse-below = 80% }\n" DRIVE,
			"2: recover-above: must be more than collapse-below, or a collapse would end as it "
			"begins" },
		{ "alerts { repeat = often }\n" DRIVE, "1: repeat: \"often\" is not allowed; allowed is "
						       "\"once\" or a duration from 1min to 7d" },
		{ "notify a { command = { \"\" } smtp = x mail-to = x format = x ping = \"ftp://x\" }\n"
		  "notify a { }\nnotify { }\n" DRIVE,
			"1: command: \"\" is not allowed; allowed is a list of a program and its arguments\n"
			"1: smtp: \"x\" is not allowed; allowed is a mail server and its port, such as "
			"\"mail.example.org:25\", or \"\" for none\n"
			"1: mail-to: \"x\" is not allowed; allowed is a mail address, or \"\" for none\n"
			"1: format: \"x\" is not allowed; allowed is \"alertmanager\", \"slack\" or "
			"\"ntfy\"\n"
			"1: ping: \"ftp://x\" is not allowed; allowed is a URL of http or https, or \"\" for "
			"none\n"
			"2: notify: \"a\" is there twice; the name is taken in t.conf:1\n"
			"3: notify: has no name; write notify \"NAME\" { ... }" },
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows), true);
}

static void test_all_mistakes_of_a_file_are_told(void **state)
{
	(void)state;
	fixture_check_mistakes("sample-intervall = \"5s\"\n"
			       "drive \"b\" { directory = \"/x\" size = \"1 GiB\" files = 1 fill = \"75%\"\n"
			       "  block-size = 16k\n"
			       "  threads = 300 engine = aio\n"
			       "  label = \"${HOME}\"\n"
			       "  slo { min-rate = \"5\"\n"
			       "drive \"b\" { directory = \"/x/\" block_size = \"16KiB\" queue-depth = 2\n"
			       " serial\n"
			       "}\n"
			       "web { listen = { \"0.0.0.0:80\" \"x\" } base-path = \"/a\" }\n"
			       "}\n"
			       "include = \"nope\"\n",
		false,
		"t.conf:1: sample-intervall: is no key outside sections; did you mean sample-interval?\n"
		"t.conf:2: drive: the section that begins here is not closed; a } is missing before line 7\n"
		"t.conf:2: size: fill and size exclude each other; take one away\n"
		"t.conf:3: block-size: \"16k\" is not allowed; allowed is a size from 4KiB to 1MiB, a power "
		"of two\n"
		"t.conf:4: threads: \"300\" is not allowed; allowed is a number from 1 to 256\n"
		"t.conf:4: engine: \"aio\" is not allowed; allowed is \"auto\", \"io_uring\", \"libaio\" or "
		"\"null\"\n"
		"t.conf:5: label: variables of the environment are not read; write \\${ for these characters "
		"themselves\n"
		"t.conf:6: slo: the section that begins here is not closed; a } is missing before line 7\n"
		"t.conf:6: min-rate: \"5\" is not allowed; allowed is a size from 1kB to 1TiB, or \"\" for "
		"none\n"
		"t.conf:7: drive: \"b\" is there twice; the name is taken in t.conf:2\n"
		"t.conf:7: block_size: is no key of drive; did you mean block-size?\n"
		"t.conf:7: queue-depth: 2 is less than threads, which is 8: each thread needs a request in "
		"flight\n"
		"t.conf:7: directory: \"/x/\" is that of drive \"b\" too (t.conf:2); each drive needs its "
		"own\n"
		"t.conf:8: serial: = and a value are missing; write serial = VALUE\n"
		"t.conf:10: listen: the items of the list need a comma between them\n"
		"t.conf:10: base-path: \"/a\" must begin and end with /\n"
		"t.conf:11: syntax: } closes nothing; there is one too many, or a { is missing before it\n"
		"t.conf:12: include: the folder nope cannot be read: No such file or directory\n");
}

static void test_too_many_drives(void **state)
{
	struct text text = TEXT_INIT;

	(void)state;
	for (unsigned i = 0; i <= CONFIG_DRIVES_MAX; i++)
		text_addf(&text, "drive d%u { directory = /%u }\n", i, i);
	fixture_check_mistakes(text_string(&text), false,
		"t.conf:257: drive: there are more than 256 drives; that is the most one service takes\n");
	text_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_web),
		cmocka_unit_test(test_names_and_structure),
		cmocka_unit_test(test_texts_and_lists),
		cmocka_unit_test(test_between_keys),
		cmocka_unit_test(test_features_of_later_versions),
		cmocka_unit_test(test_devices_and_the_rest),
		cmocka_unit_test(test_all_mistakes_of_a_file_are_told),
		cmocka_unit_test(test_too_many_drives),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
