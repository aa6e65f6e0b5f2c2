// SPDX-License-Identifier: GPL-2.0-only
/*
 * lapic_timer_khz=N: the frequency of the local APIC's timer, from a command line whose writer knows it.
 *
 * Processors without the TSC deadline timer, which QEMU's own emulator (TCG) does not offer, have their APIC timer
 * calibrated at boot. That takes 200 ms, and on a busy host it can fail, which leaves the guest without high-resolution
 * timers. QEMU's APIC runs at exactly 1 GHz, so there lapic_timer_khz=1000000 is the truth.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <asm/apic.h>

static int __init setup_lapic_timer_khz(char *arg)
{
	unsigned int khz;

	if (!arg || kstrtouint(arg, 0, &khz) || khz < HZ)
		return -EINVAL;
	lapic_timer_period = (u64)khz * 1000 / HZ;
	return 0;
}
early_param("lapic_timer_khz", setup_lapic_timer_khz);
