/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows: which counters a family has, in what unit, and which way its wear counts. A unit that vendors don't tell, or
 * that differs between firmware revisions, is doubtful: it is said, and no bytes are claimed. */
#include "probes/attributes_private.h"

#define SECTOR	   512ULL
#define MIB32	   (32ULL << 20)
#define GIB	   (1ULL << 30)
#define GB	   1000000000ULL
#define ROWS(rows) (rows), sizeof(rows) / sizeof((rows)[0])

#define NAME(id, name)                                                                                       \
	{                                                                                                    \
		id, 0, ATTRIBUTE_RAW, 0, 6, false, READING_FIELD_COUNT, 0, name                              \
	}
/* @length bytes of the raw value, from @at. */
#define PART(id, at, length, field, name)                                                                    \
	{                                                                                                    \
		id, 0, ATTRIBUTE_RAW, at, length, false, field, 0, name                                      \
	}
#define RAW(id, field, name) PART(id, 0, 6, field, name)
/* Wear; @how says which way it counts. */
#define WEAR(id, how, name)                                                                                  \
	{                                                                                                    \
		id, 0, how, 0, 6, false, READING_PERCENT_USED, 0, name                                       \
	}
/* Erases of those that a block is rated for. */
#define WEAR_SHARE(erases, rated)                                                                            \
	{                                                                                                    \
		erases, rated, ATTRIBUTE_SHARE, 0, 6, false, READING_PERCENT_USED, 0,                        \
			"mean erases of a block"                                                             \
	}
#define SPARE(id)                                                                                            \
	{                                                                                                    \
		id, 0, ATTRIBUTE_CURRENT, 0, 6, false, READING_SPARE_PCT, 0, "spare blocks"                  \
	}
#define COUNTER(id, plus, unit, is_doubtful, field, name)                                                    \
	{                                                                                                    \
		id, plus, ATTRIBUTE_RAW, 0, 6, is_doubtful, field, unit, name                                \
	}
#define HOST(id, unit)	      COUNTER(id, 0, unit, false, READING_HOST_WRITTEN_RAW, "written by the host")
#define HOST_MAYBE(id, unit)  COUNTER(id, 0, unit, true, READING_HOST_WRITTEN_RAW, "written by the host")
#define READS(id, unit)	      COUNTER(id, 0, unit, false, READING_HOST_READ_BYTES, "read by the host")
#define MEDIA(id, unit)	      COUNTER(id, 0, unit, false, READING_MEDIA_WRITTEN_RAW, "written to the flash")
#define MEDIA_MAYBE(id, unit) COUNTER(id, 0, unit, true, READING_MEDIA_WRITTEN_RAW, "written to the flash")
#define MEDIA_BOTH(id, plus, unit)                                                                           \
	COUNTER(id, plus, unit, false, READING_MEDIA_WRITTEN_RAW, "written to the flash")
#define UNSAFE(id)	  RAW(id, READING_UNSAFE_SHUTDOWNS, "unsafe shutdowns")
#define PROGRAM_FAILS(id) RAW(id, READING_PROGRAM_FAILS, "program failures")
#define ERASE_FAILS(id)	  RAW(id, READING_ERASE_FAILS, "erase failures")
#define MEAN_ERASES(id)	  RAW(id, READING_MEAN_ERASES, "mean erases of a block")
#define MIN_ERASES(id)	  RAW(id, READING_MIN_ERASES, "least erases of a block")
#define MAX_ERASES(id)	  RAW(id, READING_MAX_ERASES, "most erases of a block")
#define ERRORS(id)	  RAW(id, READING_MEDIA_ERRORS, "uncorrectable errors")
#define THROTTLES(id)	  RAW(id, READING_THROTTLE_EVENTS, "thermal throttling")

const struct attribute_rule attribute_common_rules[] = {
	RAW(5, READING_REALLOCATED, "reallocated"),
	/* Some have milliseconds in the bytes above. */
	PART(9, 0, 4, READING_POWER_ON_HOURS, "power-on hours"),
	RAW(12, READING_POWER_CYCLES, "power cycles"),
	RAW(187, READING_MEDIA_ERRORS, "uncorrectable errors"),
	NAME(190, "temperature of the air or the case"),
	NAME(194, "temperature"),
	RAW(197, READING_PENDING, "pending sectors"),
	RAW(199, READING_CRC_ERRORS, "CRC errors of the link"),
	COUNTER(241, 0, 0, true, READING_HOST_WRITTEN_RAW, "written by the host, by its usual id"),
};
const size_t attribute_common_rule_count = sizeof(attribute_common_rules) / sizeof(attribute_common_rules[0]);

#define INTEL_COMMON                                                                                         \
	HOST(241, MIB32), HOST(225, MIB32), READS(242, MIB32), PROGRAM_FAILS(171), ERASE_FAILS(172),         \
		NAME(183, "speed downshifts of the link"), NAME(184, "end-to-end errors"),                   \
		RAW(226, READING_WORKLOAD_WEAR, "wear of the timed workload, 1/1024 %"),                     \
		NAME(227, "reads of the timed workload, %"),                                                 \
		RAW(228, READING_WORKLOAD_MINUTES, "minutes of the timed workload"),                         \
		WEAR(233, ATTRIBUTE_LEFT_CURRENT, "life left"), SPARE(232)

static const struct attribute_rule intel_old[] = { INTEL_COMMON, NAME(170, "spare blocks"), UNSAFE(192) };
static const struct attribute_rule intel_sandforce[] = { INTEL_COMMON, SPARE(170), MEDIA(249, GIB),
	UNSAFE(174), UNSAFE(192) };
#define INTEL_DC                                                                                             \
	INTEL_COMMON, SPARE(170), UNSAFE(174), UNSAFE(192), NAME(175, "test of the power-loss capacitor"),   \
		NAME(235, "test of the power-loss capacitor"),                                               \
		PART(234, 1, 4, READING_THROTTLE_EVENTS, "thermal throttling")
static const struct attribute_rule intel_dc[] = { INTEL_DC };
static const struct attribute_rule intel_dc_nand[] = { INTEL_DC, MEDIA(243, MIB32) };
/* Here 233 is no wear. */
static const struct attribute_rule intel_dell[] = { HOST(233, SECTOR), HOST(225, MIB32), SPARE(170),
	WEAR(245, ATTRIBUTE_LEFT_RAW, "life left"), UNSAFE(174), ERRORS(195),
	NAME(201, "test of the power-loss capacitor"), NAME(202, "end of life"),
	PART(234, 1, 4, READING_THROTTLE_EVENTS, "thermal throttling") };
static const struct attribute_rule intel_lenovo[] = { HOST(241, SECTOR),
	WEAR(233, ATTRIBUTE_LEFT_CURRENT, "life left"), SPARE(232), ERRORS(198) };

#define SAMSUNG_COMMON                                                                                       \
	HOST(241, SECTOR), READS(242, SECTOR), PART(177, 0, 6, READING_MEAN_ERASES, "life left, erases"),    \
		WEAR(177, ATTRIBUTE_LEFT_CURRENT, "life left, erases"), SPARE(179),                          \
		NAME(180, "spare blocks left"), PROGRAM_FAILS(181), ERASE_FAILS(182),                        \
		NAME(183, "bad blocks at run time"), NAME(184, "end-to-end errors"),                         \
		NAME(195, "corrected errors"), UNSAFE(235)
static const struct attribute_rule samsung_client[] = { SAMSUNG_COMMON, UNSAFE(174), MEDIA(249, GIB) };
static const struct attribute_rule samsung_dc[] = { SAMSUNG_COMMON, MEDIA(251, SECTOR),
	NAME(201, "power-loss capacitor"), NAME(202, "exception mode"), NAME(244, "thermal throttling"),
	NAME(245, "wear of the timed workload"), NAME(246, "reads of the timed workload"),
	NAME(247, "minutes of the timed workload") };

#define MICRON_COMMON                                                                                        \
	PROGRAM_FAILS(171), ERASE_FAILS(172), MEAN_ERASES(173), UNSAFE(174),                                 \
		NAME(183, "speed downshifts of the link"), NAME(184, "end-to-end errors"),                   \
		NAME(206, "write errors")
/* Pages of the flash, of a size that differs between models: their ratio alone is the amplification. */
#define MICRON_PAGES                                                                                         \
	HOST(246, SECTOR), RAW(247, READING_HOST_PAGES, "pages programmed for the host"),                    \
		COUNTER(247, 248, 0, true, READING_MEDIA_PAGES, "pages programmed for the host"),            \
		NAME(248, "pages programmed in the background"), NAME(210, "recovered by redundancy"),       \
		NAME(180, "spare blocks left")
static const struct attribute_rule micron_m4[] = { MICRON_COMMON,
	PART(202, 0, 1, READING_PERCENT_USED, "life used"), NAME(170, "bad blocks"),
	NAME(180, "spare blocks") };
static const struct attribute_rule micron_client[] = { MICRON_COMMON, MICRON_PAGES,
	PART(202, 0, 2, READING_PERCENT_USED, "life used"), NAME(170, "spare blocks") };
static const struct attribute_rule micron_dc[] = { MICRON_COMMON, MICRON_PAGES, SPARE(170),
	WEAR(202, ATTRIBUTE_LEFT_CURRENT, "life left"), NAME(211, "integrity scans"),
	NAME(212, "blocks moved by integrity scans") };
static const struct attribute_rule micron_m500dc[] = { MICRON_COMMON, NAME(170, "spare blocks"),
	RAW(247, READING_HOST_PAGES, "pages programmed for the host"),
	COUNTER(247, 248, 0, true, READING_MEDIA_PAGES, "pages programmed for the host"),
	NAME(248, "pages programmed in the background"), WEAR(202, ATTRIBUTE_LEFT_AGREED, "life left") };

static const struct attribute_rule sandisk_marvell[] = { HOST(241, GIB), READS(242, GIB), MEDIA(233, GIB),
	NAME(230, "wear, of an unsure scale"), MIN_ERASES(166), MAX_ERASES(168), PROGRAM_FAILS(171),
	ERASE_FAILS(172), MEAN_ERASES(173), UNSAFE(174), SPARE(232), THROTTLES(244),
	NAME(249, "written to the TLC flash") };
static const struct attribute_rule sandisk_u100[] = { HOST_MAYBE(241, SECTOR), PROGRAM_FAILS(171),
	ERASE_FAILS(172), MEAN_ERASES(173), UNSAFE(174), NAME(230, "wear, of an unsure scale"), SPARE(232) };
static const struct attribute_rule cloudspeed[] = { ERRORS(13),
	NAME(32, "write amplification of the drive's life"), NAME(33, "write amplification"), SPARE(170),
	PROGRAM_FAILS(171), ERASE_FAILS(172), NAME(173, "life used"), UNSAFE(174),
	WEAR(177, ATTRIBUTE_LEFT_CURRENT, "life left"), NAME(178, "life left, 1/100 %"),
	NAME(190, "warning of the temperature"), MEDIA_MAYBE(233, 0), NAME(235, "power-loss capacitor"),
	THROTTLES(244) };
static const struct attribute_rule wd[] = { HOST(241, GIB), READS(242, GIB), MEDIA_BOTH(233, 234, GIB),
	NAME(234, "written to the SLC flash"), WEAR(230, ATTRIBUTE_USED_HUNDREDTHS, "life used"),
	PROGRAM_FAILS(171), ERASE_FAILS(172), UNSAFE(174), MEAN_ERASES(173), SPARE(232), THROTTLES(244) };

#define PHISON_COMMON                                                                                        \
	READS(242, GIB), NAME(168, "errors of the link"), NAME(169, "bad blocks"),                           \
		PART(170, 4, 2, READING_BAD_BLOCKS, "bad blocks, late and early"), ERASE_FAILS(172),         \
		PART(173, 0, 2, READING_MAX_ERASES, "erases of a block, most and mean"),                     \
		PART(173, 2, 2, READING_MEAN_ERASES, "erases of a block, most and mean"),                    \
		PROGRAM_FAILS(181), ERASE_FAILS(182), UNSAFE(192), THROTTLES(207),                           \
		NAME(218, "CRC errors of the link"), WEAR(231, ATTRIBUTE_LEFT_EITHER, "life left"),          \
		MEAN_ERASES(244), MAX_ERASES(245), NAME(246, "erases of all blocks")
static const struct attribute_rule phison[] = { HOST(241, GIB), MEDIA(233, GIB), PHISON_COMMON };
static const struct attribute_rule exceria[] = { HOST_MAYBE(241, GIB), MEDIA_MAYBE(233, GIB), PHISON_COMMON };
static const struct attribute_rule kingston_uv[] = { HOST(241, GIB), READS(242, GIB), PROGRAM_FAILS(171),
	ERASE_FAILS(172), UNSAFE(174), NAME(170, "spare blocks"), NAME(177, "erases"),
	WEAR(231, ATTRIBUTE_LEFT_AGREED, "life left") };
static const struct attribute_rule sandforce[] = { HOST(241, GIB), READS(242, GIB), MEDIA(233, GIB),
	PROGRAM_FAILS(171), PROGRAM_FAILS(181), ERASE_FAILS(172), ERASE_FAILS(182), UNSAFE(174),
	NAME(189, "temperature of the air"), NAME(198, "uncorrectable errors"),
	NAME(230, "life curve, 90 is throttled"), WEAR(231, ATTRIBUTE_LEFT_CURRENT, "life left"), SPARE(232),
	SPARE(170), NAME(235, "power-loss capacitor") };
static const struct attribute_rule silicon_motion[] = { HOST(241, MIB32), HOST(225, MIB32), READS(242, MIB32),
	MEDIA_BOTH(245, 246, MIB32), NAME(246, "written to the SLC flash"), ERRORS(160),
	NAME(161, "spare blocks"), NAME(163, "bad blocks of the factory"), NAME(164, "erases of all blocks"),
	MAX_ERASES(165), MIN_ERASES(166), MEAN_ERASES(167), NAME(168, "erases that a block is rated for"),
	WEAR(169, ATTRIBUTE_LEFT_RAW, "life left"), WEAR_SHARE(167, 168), PROGRAM_FAILS(181),
	ERASE_FAILS(182), UNSAFE(192), SPARE(232) };
static const struct attribute_rule toshiba_hk4r[] = { HOST(241, MIB32), NAME(169, "spare blocks"),
	NAME(173, "erases") };
static const struct attribute_rule toshiba_hg6[] = { HOST_MAYBE(241, 0), NAME(167, "write protection"),
	NAME(168, "errors of the link"), NAME(169, "bad blocks"), NAME(173, "erases"), UNSAFE(192) };
/* 199 counts writes, not CRC errors, and 198 reads. */
static const struct attribute_rule barefoot3[] = { HOST(241, GIB), HOST(199, GIB), READS(242, GIB),
	READS(198, GIB), MEDIA(249, GIB), UNSAFE(174), RAW(195, READING_PROGRAM_FAILS, "program failures"),
	RAW(196, READING_ERASE_FAILS, "erase failures"), NAME(197, "uncorrectable reads"), MIN_ERASES(206),
	MAX_ERASES(207), MEAN_ERASES(208), RAW(210, READING_CRC_ERRORS, "CRC errors of the link"), SPARE(232),
	WEAR(233, ATTRIBUTE_LEFT_CURRENT, "life left") };
static const struct attribute_rule seagate_nytro[] = { HOST_MAYBE(241, GB), MEDIA_MAYBE(233, GB), ERRORS(198),
	NAME(230, "write protection"), WEAR(231, ATTRIBUTE_LEFT_RAW, "life left"), SPARE(232), UNSAFE(174) };
static const struct attribute_rule seagate_barracuda[] = { HOST(241, GIB), READS(242, GIB), MEDIA(233, GIB),
	NAME(16, "spare blocks of the factory"), NAME(17, "spare blocks left"),
	WEAR(231, ATTRIBUTE_LEFT_RAW, "life left"), NAME(235, "sectors written to the flash"), UNSAFE(174),
	UNSAFE(192) };
static const struct attribute_rule hynix[] = { HOST_MAYBE(241, GIB), MEDIA(249, GIB), MEDIA_MAYBE(243, GIB),
	MIN_ERASES(168), MAX_ERASES(169), PROGRAM_FAILS(171), ERASE_FAILS(172), UNSAFE(174),
	NAME(180, "spare blocks"), WEAR(231, ATTRIBUTE_LEFT_CURRENT, "life left") };
/* 241 is what went to the flash. */
static const struct attribute_rule hynix_dc[] = { HOST(235, GIB), MEDIA_MAYBE(241, GIB), PROGRAM_FAILS(171),
	ERASE_FAILS(172), UNSAFE(174), NAME(180, "spare blocks"),
	WEAR(231, ATTRIBUTE_LEFT_CURRENT, "life left"), NAME(234, "written to the flash") };
#define MAXIO_COMMON                                                                                         \
	NAME(161, "spare blocks"), NAME(180, "spare blocks left"), ERRORS(160), UNSAFE(192),                 \
		WEAR(231, ATTRIBUTE_LEFT_AGREED, "life left")
static const struct attribute_rule maxio[] = { HOST_MAYBE(241, GIB), MAXIO_COMMON, MIN_ERASES(206),
	MAX_ERASES(207), MEAN_ERASES(208), PROGRAM_FAILS(171), ERASE_FAILS(172) };
static const struct attribute_rule hosin[] = { HOST_MAYBE(241, GIB), MAXIO_COMMON, MAX_ERASES(165),
	MIN_ERASES(166), MEAN_ERASES(167) };
static const struct attribute_rule hosin2[] = { HOST_MAYBE(241, MIB32), MAXIO_COMMON, MAX_ERASES(165),
	MIN_ERASES(166), MEAN_ERASES(167) };

const struct attribute_family attribute_families[] = {
	{ "Intel X25-M G2, 320, 710",
		"INTEL SSDSA[12]M[0-9]{3}G2.*|INTEL SSDSA[12][BCN][WT][0-9]{3}G3.*|"
		"INTEL SSDSA2BZ[0-9]{3}G3.*",
		NULL, ROWS(intel_old) },
	{ "Intel 520, 530, Pro 1500, Pro 2500",
		"INTEL SSDSC2[BC]W[0-9]{3}A3.*|INTEL SSDMCEAC[0-9]{3}B3|"
		"INTEL SSD(MCEA|SC2B|SCKJ)[WF][0-9]{3}(A4|A5|H6).*",
		NULL, ROWS(intel_sandforce) },
	{ "Intel DC, Dell firmware",
		"(INTEL )?SSDSC(2B|2K|KK|KJ|KB)[ABGX][0-9]{3}[GT][4678Z]R.*|Dell Certified Intel.*", NULL,
		ROWS(intel_dell) },
	{ "Intel DC, Lenovo firmware", "(INTEL )?SSDSC(2K|KK)[BG][0-9]{3}[GT]8L.*", NULL,
		ROWS(intel_lenovo) },
	{ "Intel DC S3510-S3710, S45x0, S46x0",
		"INTEL SSDSC[12]BX[0-9]{3}[GHT]4.*|INTEL SSDSC[12]BG[0-9]{3}[GHT]4.*|"
		"INTEL SSDSC[12]BA[0-9]{3}[GHT]4.*|INTEL SSDSC(2B|KB|2J|KJ)B[0-9]{3}[GHT][67].*|"
		"(INTEL|SOLIDIGM) SSDSC(2K|KK)[BG][0-9]{3}[GT][78Z].?",
		NULL, ROWS(intel_dc_nand) },
	{ "Intel 730, DC S3500, S3700",
		"INTEL SSDSC(1N|[12]B)[ABP][0-9]{3}[GHT][34].*|VK000(120|240|480)GWSXF", NULL,
		ROWS(intel_dc) },
	{ "Samsung PM863, PM883, PM893, SM863, SM883",
		"(SAMSUNG )?MZ7(LM|KM|KH|L3)[0-9].*|(SAMSUNG )?MZ7LH(240|480|960|1T9|3T8|7T6).*|"
		"Samsung SSD 883 DCT .*|MK000(240|480|960)G(WCEV|ZXR[AB])",
		NULL, ROWS(samsung_dc) },
	{ "Samsung 470 to 870, PM8xx",
		"SAMSUNG SSD (PM8|SM8).*|SAMSUNG 470 Series SSD|SAMSUNG SSD 830 Series|"
		"Samsung SSD (750|8[3-7]0) .*|Samsung SSD 845DC EVO.*|"
		"(SAMSUNG )?MZ[7HMNY](PA|PC|TD|PD|WD|TE|PF|GE|LF|TY|LN|LH|PV)[0-9].*|Samsung Portable SSD T5",
		NULL, ROWS(samsung_client) },
	{ "Crucial m4, C300, Micron C400",
		"(C300-|P300-)?MTFD(BAK|DAC)[0-9]{3}(MAG|SAL).*|C300-CTFDDA.*|C400-MTFDDA.*|M4-CT.*|"
		"MTFDDA[AK][0-9]{3}MA[MNR]-1[JKS]1.*",
		NULL, ROWS(micron_m4) },
	{ "Crucial MX, BX, Micron 1100, 1300",
		"Crucial_CT[0-9]+(MX[123]00|M5[05]0)SSD.*|CT[0-9]+(BX[35]00|MX500)SSD.*|"
		"(Micron_)?(M500|M510|M550|M600|1100|1300)[_-](EE|MT)FDD.*|(Micron[_ ])?M500IT[_ ]MTFDDA.*|"
		"(EE|MT)FDDA[KTV][0-9T]{3}(TBN|TDL|MBF).*|Micron 1100 SATA .*",
		NULL, ROWS(micron_client) },
	{ "Micron 5100, 5200, 5210, 5300, 5400",
		"(Micron_5(100|200|210|300(HC)?|400)_)?(EE|MT)FDDA[KV][0-9T]{3}"
		"(T(BY|CB|CC|DC|DD|DN|DS|DT|DU|GA|GB|GC)|QDE)([-_].*)?|VK001920G(WSXK|XAWN)",
		NULL, ROWS(micron_dc) },
	{ "Micron M500DC, M510DC", "(Micron|MICRON)_M5[01]0DC_.*", NULL, ROWS(micron_m500dc) },
	{ "SanDisk X100 to X600, Extreme, Ultra II",
		"SanDisk (SD5SG2|SD6S[BFP]|SD7S[BN][67]S|SD8[ST][BN]8U|SD9S[BN]8W).*|"
		"SanDisk (SDSSDA-|SDSSDH|SDSSDXP|Ultra II|SSD PLUS|SSD G5 BICS4).*|SD Ultra 3D .*",
		NULL, ROWS(sandisk_marvell) },
	{ "SanDisk U100, U110, pSSD",
		"SanDisk (iSSD P4|pSSD|SDSSDP[0-9]|SDSSDRC|SSD i100|SSD U1[01]0|SDSA6|SD7[SU]B[23]Q).*", NULL,
		ROWS(sandisk_u100) },
	{ "SanDisk CloudSpeed", "SD[A-Z0-9]{2}[1-3NO][A-Z0-9]{3}-?[0-9]{3}[GT]-?1[A-Z0-9]{3}", NULL,
		ROWS(cloudspeed) },
	{ "WD Blue, Green, Red",
		"WDC +WDS[0-9]{3}[GT][0-9][BGR]0[AB].*|WDC WDBNCE.*|"
		"WD (Blue|Green|Red) ((SA|SN)[0-9]+ )?(2\\.5|M\\.2).*",
		NULL, ROWS(wd) },
	{ "Kioxia Exceria SATA", "KIOXIA-EXCERIA SATA SSD", NULL, ROWS(exceria) },
	{ "Kingston, Phison S10 to S12",
		"KINGSTON  "
		"?(SA400|SKC400|SKC310|SUV300|SEDC(400|450|500|600)|SV310|SHSS3|SS200|SM2280S3G2).*|"
		"KINGSTON (RBUSNS|OCP0|OM[48S]P0).*|Corsair Force LE.*|"
		"Patriot (Blast|Blaze|Flare|Ignite|Burst)( [0-9]+GB)?|PNY (CS900|CS1311|CS2211|ELITE) .*|"
		"GIGABYTE GP-GSTFS31.*|GOODRAM IRIDIUM PRO|IRP?-SSDPR-S25.*|SSDPR-CX400-[0-9]+|"
		"TEAM L3 EVO .*|SSD PHISON .*|SSD Smartbuy .*|S11-[0-9]+G-PHISON.*|CUBEX CS500 .*",
		NULL, ROWS(phison) },
	{ "Phison S10 to S12, unnamed",
		"Gigastone SSD|GOODRAM|Hoodisk SSD|INTENSO.*|Kingmax SATA SSD .*|SATA SSD|"
		"SPCC Solid State Disk|SSDPR-CX400-.*-G2",
		"S[89ABH]F[DM][0-9JLTY][0-9A]\\.[0-9]", ROWS(phison) },
	{ "Kingston UV400, UV500", "KINGSTON SUV(400S37|500).*", NULL, ROWS(kingston_uv) },
	{ "SandForce SF-1200, SF-2000",
		"ADATA (SSD S(396|510|599)|SP[389]00|SSD S[PX]900|XM11).*|"
		"Corsair (CSSD-F[0-9]|Force (3 SSD|LS SSD|SSD|GS|GT)|Voyager GTX).*|"
		"KINGSTON "
		"(SH10[03]S3|SHFS37A|SV300S3|SKC(100|300|380)S3|SVP200S3|SMS(200|450)S3|SE(50|100)S3).*|"
		"MKNSSD(CR|EC|AT)[0-9].*|OCZ[ -](AGILITY[23]|VERTEX[23]|SOLID3|ONYX2|REVODRIVE|NOCTI).*|"
		"OWC (Aura|Mercury) .*|Patriot Pyro|SanDisk SDSSDX[0-9].*|TS[0-9]+GSSD[37]20",
		NULL, ROWS(sandforce) },
	{ "Silicon Motion",
		"ADATA[ _](SP550|SU[0-9]{3}|IMSS332).*|CT[0-9]+BX[12]00SSD1|KINGSTON SKC600.*|HP SSD S700 .*|"
		"Patriot P2[01]0 .*|TS[0-9]+[GT](SSD|MSA|MSM|MTS|ESD|PSD)[2346][0-9]{2}.*|"
		"TS[0-9]+[GT]MTS8[03]0.*|JAJS[56]00M.*|KingDian S[1-4][0-9]0 .*|TCSUNBOW [MX]3 .*|"
		"CORSAIR FORCE LX SSD|AMD R5SL.*|R3SL[0-9]+G|MKNSSD(RE|S2|TR)[0-9].*",
		NULL, ROWS(silicon_motion) },
	{ "Toshiba HK4R", "TOSHIBA THNSN8[0-9]+PCS.*", NULL, ROWS(toshiba_hk4r) },
	{ "Toshiba HG6, OCZ Trion", "OCZ-TRION1[05]0|TOSHIBA[ -](TR150|Q300.*|THNSNJ.*)", NULL,
		ROWS(toshiba_hg6) },
	{ "OCZ Barefoot 3, Intrepid",
		"OCZ-(VECTOR(1[58]0)?|VERTEX4[56]0A?|SABER1000|ARC100)|Radeon R7|OCZ INTREPID 3[678]00", NULL,
		ROWS(barefoot3) },
	{ "Seagate Nytro, IronWolf 110",
		"(Seagate Nytro )?XA[0-9]+[LM]E[0-9]+.*|XF1230-.*|ZA(240|480|960|1920|3840)NM1.*|"
		"Seagate Nytro.*",
		NULL, ROWS(seagate_nytro) },
	{ "Seagate BarraCuda, IronWolf 125",
		"(Seagate [A-Za-z]+ SSD )?ZA(250|500|1000|2000|4000)(CM|CV|NM)1.*", NULL,
		ROWS(seagate_barracuda) },
	{ "SK hynix SE5xxx", "HFS[0-9T]{3}G3H.*|SK ?hynix SE5.*", NULL, ROWS(hynix_dc) },
	{ "SK hynix SC2xx to SC4xx", "SK ?hynix SC[234][0-9]{2}.*|HFS[0-9]{3}G3[29][MT]N.*", NULL,
		ROWS(hynix) },
	{ "Maxio",
		"Fanxiang S101 .*|HP SSD S600 .*|Lexar 128GB SSD|Patriot Burst Elite .*|"
		"SPCC Solid State Disk|SSDPR-CX400-.*-G2|Verbatim Vi5[56]0 .*|PNY 1TB SATA SSD|"
		"(128|256|512)GB SSD|V Series SATA SSD .*",
		"H19[0-9]{4}[DH]?|SN(0[789]|1[124]|8)[0-9]{3}|H22[0-9]{4}a?", ROWS(maxio) },
	{ "Hosin HG2258", "M\\.2 2280 SATA SSD|Verbatim Vi550 S3", "[HP]AFE[AC]2\\.0", ROWS(hosin) },
	{ "Hosin HG2259", "Patriot P220 .*", "HDFEB3\\.2", ROWS(hosin2) },
};
const size_t attribute_family_count = sizeof(attribute_families) / sizeof(attribute_families[0]);
