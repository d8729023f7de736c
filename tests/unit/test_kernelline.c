/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of the kernel's log: how they are taken apart, what they say, and whose they are. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "measure/kernelline.h"

static void test_a_record_is_taken_apart(void **state)
{
	struct kernelline line = { .sequence = 1 };
	char text[KERNELLINE_TEXT_MAX], record[1024];

	(void)state;
	assert_int_equal(kernelline_parse("4,1234,5678901,-;nvme nvme0: I/O 12 QID 3 timeout, aborting\n"
					  " SUBSYSTEM=nvme\n DEVICE=c239:0\n",
				 &line),
		0);
	assert_true(
		line.sequence == 1234 && line.mono_us == 5678901 && line.level == 4 && line.facility == 0);
	assert_string_equal(line.text, "nvme nvme0: I/O 12 QID 3 timeout, aborting");
	/* Facilities of programs, fields that newer kernels add, bytes that can't be printed. */
	assert_int_equal(
		kernelline_parse("30,18446744073709551615,7,c,caller=T1;a\\x0a  b\t\033[2Jc", &line), 0);
	assert_true(line.sequence == UINT64_MAX && line.level == 6 && line.facility == 3);
	assert_string_equal(line.text, "a b [2Jc");
	for (const char *const *bad = (const char *const[]){ "", "4,1,2,-", "x,1,2,-;a", "4,1;a", NULL };
		*bad; bad++)
		assert_int_equal(kernelline_parse(*bad, &line), -EINVAL);
	assert_string_equal(line.text, "a b [2Jc");
	memset(record, 'a', sizeof(record));
	memcpy(record, "4,1,2,-;", 8);
	record[sizeof(record) - 1] = '\0';
	assert_int_equal(kernelline_parse(record, &line), 0);
	assert_int_equal(strlen(line.text), KERNELLINE_TEXT_MAX - 1);
	kernelline_clean("", text);
	assert_string_equal(text, "");
}

static void test_what_lines_say(void **state)
{
	static const struct {
		const char *text;
		enum kernelline_word word;
	} lines[] = {
		{ "nvme nvme0: I/O 12 QID 3 timeout, aborting", KERNELLINE_TIMEOUT },
		{ "nvme nvme0: I/O tag 5 (1005) opcode 0x1 (I/O Cmd) QID 2 timeout, aborting req_op:WRITE(1) "
		  "size:16384",
			KERNELLINE_TIMEOUT },
		{ "nvme nvme0: Abort status: 0x0", KERNELLINE_TIMEOUT },
		{ "nvme nvme0: I/O 12 QID 3 timeout, reset controller", KERNELLINE_RESET },
		{ "nvme nvme0: I/O 12 QID 3 timeout, completion polled", KERNELLINE_POLLED },
		{ "nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10",
			KERNELLINE_RESET },
		{ "nvme nvme0: Device not ready; aborting reset, CSTS=0x1", KERNELLINE_RESET },
		{ "nvme nvme0: Disabling device after reset failure: -19", KERNELLINE_RESET },
		{ "nvme nvme0: 2/0/0 default/read/poll queues", KERNELLINE_RESET },
		{ "nvme0n1: I/O Cmd(0x1) @ LBA 2048, 32 blocks, I/O Error (sct 0x2 / sc 0x80) DNR",
			KERNELLINE_ERROR },
		{ "critical medium error, dev nvme0n1, sector 2048 op 0x1:(WRITE) flags 0x8800 phys_seg 4 "
		  "prio class 2",
			KERNELLINE_ERROR },
		{ "blk_update_request: I/O error, dev sda, sector 0 op 0x1:(WRITE)", KERNELLINE_ERROR },
		{ "Buffer I/O error on dev sda1, logical block 3, async page read", KERNELLINE_ERROR },
		{ "ata3.00: exception Emask 0x0 SAct 0x40 SErr 0x0 action 0x6 frozen", KERNELLINE_ERROR },
		{ "ata3.00: failed command: WRITE FPDMA QUEUED", KERNELLINE_ERROR },
		{ "ata3.00: cmd 61/20:30:00/00:00:00/40 tag 6 ncq dma 16384 out res 40/00:00 Emask 0x4 "
		  "(timeout)",
			KERNELLINE_TIMEOUT },
		{ "ata3.00: cmd 61/20:30:00/00 res 40/00:00 Emask 0x10 (ATA bus error)", KERNELLINE_LINK },
		{ "ata3: hard resetting link", KERNELLINE_RESET },
		{ "ata3: COMRESET failed (errno=-16)", KERNELLINE_RESET },
		{ "ata3: SATA link up 6.0 Gbps (SStatus 133 SControl 300)", KERNELLINE_NONE },
		{ "ata3: SATA link down (SStatus 0 SControl 310)", KERNELLINE_LINK },
		{ "ata3: limiting SATA link speed to 3.0 Gbps", KERNELLINE_LINK },
		{ "ata3.00: NCQ disabled due to excessive errors", KERNELLINE_LINK },
		{ "ata3.00: configured for UDMA/133", KERNELLINE_NONE },
		{ "sd 2:0:0:0: [sda] tag#3 FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK "
		  "cmd_age=60s",
			KERNELLINE_TIMEOUT },
		{ "sd 2:0:0:0: [sda] tag#6 Sense Key : Medium Error [current]", KERNELLINE_ERROR },
		{ "sd 2:0:0:0: Power-on or device reset occurred", KERNELLINE_RESET },
		{ "sd 2:0:0:0: Device offlined - not ready after error recovery", KERNELLINE_RESET },
		{ "sd 2:0:0:0: rejecting I/O to offline device", KERNELLINE_RESET },
		{ "sd 2:0:0:0: [sda] Attached SCSI disk", KERNELLINE_NONE },
		{ "usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd", KERNELLINE_RESET },
		{ "pcieport 0000:00:1c.0: AER: Corrected error received: 0000:01:00.0", KERNELLINE_AER },
		{ "nvme 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
			KERNELLINE_AER },
		{ "pcieport 0000:00:1c.0: pciehp: Slot(0): Link Down", KERNELLINE_LINK },
		{ "watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [kworker/1:0:17]", KERNELLINE_HOST },
		{ "rcu: INFO: rcu_preempt self-detected stall on CPU", KERNELLINE_HOST },
		{ "CPU3: Core temperature above threshold, cpu clock throttled (total events = 1)",
			KERNELLINE_HOST },
		{ "EXT4-fs (nvme0n1p1): mounted filesystem with ordered data mode", KERNELLINE_NONE },
		{ "", KERNELLINE_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (kernelline_word(lines[i].text) != lines[i].word)
			fail_msg("%d instead of %d: %s", (int)kernelline_word(lines[i].text),
				(int)lines[i].word, lines[i].text);
}

static struct kernelline_names names_of(const char *const *words)
{
	struct kernelline_names names = { .count = 0 };

	for (; *words; words++)
		kernelline_add_name(&names, *words);
	return names;
}

static void test_whose_lines_they_are(void **state)
{
	const struct kernelline_names sda = names_of((const char *const[]){
					      "sda", "2:0:0:0", "ata3", "ata3.00", NULL }),
				      nvme = names_of((const char *const[]){
					      "nvme1n1", "nvme1", "0000:01:00.0", "0000:00:1c.0", NULL }),
				      none = { .count = 0 };
	static const struct {
		const char *text;
		bool is_sda, is_nvme;
	} lines[] = {
		{ "I/O error, dev sda, sector 5", true, false },
		{ "I/O error, dev sdaa, sector 5", false, false },
		{ "I/O error, dev sd, sector 5", false, false },
		{ "Buffer I/O error on dev sda1, logical block 3", true, false },
		{ "Buffer I/O error on dev sda12", true, false },
		{ "Buffer I/O error on dev sda1x", false, false },
		{ "sd 2:0:0:0: [sda] tag#3 FAILED", true, false },
		{ "sd 12:0:0:0: rejecting I/O to offline device", false, false },
		{ "sd 2:0:0:01: x", false, false },
		{ "sd 2:0:0:0: Power-on or device reset occurred", true, false },
		{ "[sda]", true, false },
		{ "ata3: hard resetting link", true, false },
		{ "ata30: hard resetting link", false, false },
		{ "ata3.00: exception Emask 0x0", true, false },
		{ "ata3.01: exception Emask 0x0", false, false },
		{ "ata13.00: exception Emask 0x0", false, false },
		{ "nvme nvme1: controller is down", false, true },
		{ "nvme nvme10: controller is down", false, false },
		{ "nvme nvme0: controller is down", false, false },
		{ "I/O error, dev nvme1n1, sector 5", false, true },
		{ "I/O error, dev nvme1n10, sector 5", false, false },
		{ "I/O error, dev nvme11n1, sector 5", false, false },
		{ "I/O error, dev nvme1n1p2, sector 5", false, true },
		{ "nvme1n12: I/O Cmd(0x1)", false, false },
		{ "pcieport 0000:00:1c.0: AER: Corrected error received: 0000:02:00.0", false, true },
		{ "nvme 0000:01:00.0: PCIe Bus Error", false, true },
		{ "nvme 0000:01:00.01: PCIe Bus Error", false, false },
		{ "nvme1", false, true },
		{ "my-nvme1 dm-sda xsda", false, false },
		{ "", false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		if (kernelline_concerns(lines[i].text, &sda) != lines[i].is_sda ||
			kernelline_concerns(lines[i].text, &nvme) != lines[i].is_nvme)
			fail_msg("%s", lines[i].text);
		assert_false(kernelline_concerns(lines[i].text, &none));
	}
}

static void test_names_are_bounded(void **state)
{
	struct kernelline_names names = { .count = 0 };
	char name[KERNELLINE_NAME_MAX + 1];

	(void)state;
	kernelline_add_name(&names, "");
	memset(name, 'a', sizeof(name));
	name[KERNELLINE_NAME_MAX] = '\0';
	kernelline_add_name(&names, name);
	assert_int_equal(names.count, 0);
	for (unsigned i = 0; i < 2 * KERNELLINE_NAMES_MAX; i++) {
		name[0] = (char)('a' + i);
		name[1] = '\0';
		kernelline_add_name(&names, name);
		kernelline_add_name(&names, "a");
	}
	assert_int_equal(names.count, KERNELLINE_NAMES_MAX);
	assert_string_equal(names.name[0], "a");
	assert_string_equal(names.name[1], "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_record_is_taken_apart),
		cmocka_unit_test(test_what_lines_say),
		cmocka_unit_test(test_whose_lines_they_are),
		cmocka_unit_test(test_names_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
