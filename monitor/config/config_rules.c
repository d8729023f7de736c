/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_rules.h"

#include <arpa/inet.h>
#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "config/config.h"

#define LETTERS_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define LABEL_MAX      128
/* Room for the names the service adds below a folder. */
#define PATH_LENGTH_MAX (PATH_MAX - 256)

static bool has_only(const char *text, const char *allowed)
{
	return text[strspn(text, allowed)] == '\0';
}

static bool has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static bool is_one_of(const char *text, const char *const *names)
{
	for (; *names; names++) {
		if (!strcmp(text, *names))
			return true;
	}
	return false;
}

bool config_rules_power_of_two(uint64_t number)
{
	return number && !(number & (number - 1));
}

bool config_rules_whole_seconds(uint64_t ns)
{
	return ns % NS_PER_S == 0;
}

bool config_rules_is_title(const char *text)
{
	return *text && strlen(text) <= CONFIG_NAME_MAX && *text != '.' && *text != '-' &&
	       has_only(text, LETTERS_DIGITS "._-");
}

const char *config_rules_path(const char *text)
{
	if (*text != '/')
		return "must be an absolute path: it begins with /";
	if (strlen(text) > PATH_LENGTH_MAX)
		return "is too long for a path";
	return NULL;
}

bool config_rules_is_loop_device(const char *path)
{
	return has_prefix(path, "/dev/loop") && path[9] && has_only(path + 9, "0123456789");
}

const char *config_rules_device(const char *text)
{
	static const char *const links[] = { "/dev/disk/by-id/", "/dev/disk/by-path/" };

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		if (has_prefix(text, links[i]) && text[strlen(links[i])] && !strstr(text, ".."))
			return NULL;
	}
	if (config_rules_is_loop_device(text))
		return NULL;
	if (has_prefix(text, "/dev/") && text[5] && has_only(text + 5, LETTERS_DIGITS "-"))
		return "is a kernel name that may be another drive after the next start; give its link in "
		       "/dev/disk/by-id (see: ls -l /dev/disk/by-id)";
	return "";
}

/* Digits only, @least..65535. */
static bool is_port(const char *text, uint64_t least)
{
	uint64_t port;

	return strlen(text) <= 5 && units_parse_count(text, &port) == 0 && port >= least && port <= 65535;
}

/* Splits HOST:PORT or [HOST]:PORT; @host has INET6_ADDRSTRLEN. */
static bool address_split(const char *text, char *host, const char **port, bool *is_v6)
{
	const char *end;

	*is_v6 = *text == '[';
	if (*is_v6)
		text++;
	end = strchr(text, *is_v6 ? ']' : ':');
	if (!end || (size_t)(end - text) >= INET6_ADDRSTRLEN || (*is_v6 && end[1] != ':'))
		return false;
	memcpy(host, text, (size_t)(end - text));
	host[end - text] = '\0';
	*port = end + (*is_v6 ? 2 : 1);
	return true;
}

const char *config_rules_listen(const char *text)
{
	char host[INET6_ADDRSTRLEN];
	struct in6_addr address;
	const char *port;
	bool is_v6;

	if (!address_split(text, host, &port, &is_v6))
		return "";
	return inet_pton(is_v6 ? AF_INET6 : AF_INET, host, &address) == 1 && is_port(port, 0) ? NULL : "";
}

bool config_rules_is_loopback(const char *listen)
{
	char host[INET6_ADDRSTRLEN];
	struct in6_addr v6;
	const char *port;
	bool is_v6;

	if (!address_split(listen, host, &port, &is_v6))
		return false;
	if (!is_v6)
		return has_prefix(host, "127.");
	return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

const char *config_rules_base_path(const char *text)
{
	size_t length = strlen(text);

	if (*text != '/' || text[length - 1] != '/')
		return "must begin and end with /";
	return has_only(text, LETTERS_DIGITS "._~-/") && !strstr(text, "//") ? NULL : "";
}

const char *config_rules_host(const char *text)
{
	return *text && has_only(text, LETTERS_DIGITS ".-:[]") ? NULL : "";
}

const char *config_rules_label(const char *text)
{
	return strlen(text) <= LABEL_MAX ? NULL : "";
}

const char *config_rules_include(const char *text)
{
	return strlen(text) <= PATH_LENGTH_MAX ? NULL : "is too long for a path";
}

const char *config_rules_probe(const char *text)
{
	static const char *const names[] = { "auto", "nvme", "ata", "none", NULL };

	if (is_one_of(text, names))
		return NULL;
	/* The rest becomes an argument of smartctl -d, never a shell's. */
	if (has_prefix(text, "smartctl:") && text[9] && has_only(text + 9, LETTERS_DIGITS ",+/-_"))
		return NULL;
	return "";
}

const char *config_rules_repeat(const char *text)
{
	uint64_t ns;

	if (!strcmp(text, "once") || !strcmp(text, "diminishing"))
		return NULL;
	return units_parse_duration(text, &ns) == 0 && ns >= 60 * NS_PER_S && ns <= 7 * 86400 * NS_PER_S
		       ? NULL
		       : "";
}

/* Printable ASCII without what a URL must encode; what stands behind the scheme. NULL: not such a URL. */
static const char *url_rest(const char *text, const char *const *schemes)
{
	for (; *schemes; schemes++) {
		const char *rest = text + strlen(*schemes);

		if (!has_prefix(text, *schemes))
			continue;
		for (const char *c = rest; *c; c++)
			if (*c <= ' ' || *c > '~' || strchr("\"<>\\^`{|}", *c))
				return NULL;
		return *rest && !strchr("/?#:@", *rest) ? rest : NULL;
	}
	return NULL;
}

const char *config_rules_url(const char *text)
{
	static const char *const schemes[] = { "https://", "http://", NULL };

	return url_rest(text, schemes) ? NULL : "";
}

/* What is safe in a header and in a command of SMTP. */
const char *config_rules_mail(const char *text)
{
	const char *at = strchr(text, '@');

	if (!at || at == text || !at[1] || strchr(at + 1, '@') || *text == '-')
		return "";
	for (const char *c = text; *c; c++)
		if (*c <= ' ' || *c > '~' || strchr("\"<>(),;:\\[]", *c))
			return "";
	return NULL;
}

const char *config_rules_server(const char *text)
{
	static const char *const schemes[] = { "smtps://", "smtp://", NULL };
	const char *port = strrchr(text, ':');

	if (has_prefix(text, "smtp"))
		for (const char *const *scheme = schemes; *scheme; scheme++)
			if (has_prefix(text, *scheme)) {
				const char *rest = url_rest(text, schemes);

				return rest && !strpbrk(rest, "/?#") ? NULL : "";
			}
	if (!port || port == text || !is_port(port + 1, 1))
		return "";
	return strspn(text, LETTERS_DIGITS ".-:[]") == strlen(text) ? NULL : "";
}

const char *config_rules_argument(const char *text)
{
	return *text ? NULL : "";
}

/* The next component of a path; its length, 0 at the end. */
static size_t component(const char **path)
{
	size_t length;

	do {
		*path += strspn(*path, "/");
		length = strcspn(*path, "/");
		if (length != 1 || **path != '.')
			return length;
		*path += 1;
	} while (true);
}

bool config_rules_is_same_path(const char *a, const char *b)
{
	size_t length_a, length_b;

	do {
		length_a = component(&a);
		length_b = component(&b);
		if (length_a != length_b || memcmp(a, b, length_a) != 0)
			return false;
		a += length_a;
		b += length_b;
	} while (length_a);
	return true;
}
