package boot

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	defaultRoot = "/dev/vda"
	newRoot     = "/newroot"

	// The disk's driver is built in, so that the device is there before init runs, or a few milliseconds later when its
	// probe is still under way.
	deviceBudget = 5 * time.Second
	devicePoll   = time.Millisecond
)

// MountDisk mounts the disk that the kernel's command line names, aside: EnterRoot then goes there. Early comes before.
func MountDisk() error {
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return err
	}
	if err := makeDirectory(newRoot, 0o755); err != nil {
		return err
	}
	device := rootDevice(string(line))
	if err := mountDisk(device); err != nil {
		return fmt.Errorf("mount %s: %w", device, err)
	}
	return nil
}

// EnterRoot makes the disk the root of this very process, and of all it starts, with every file system mounted. Running the
// agent anew from the disk would cost another exec (over 100 ms under emulation) and put it in the reach of the guest's root.
func EnterRoot() error {
	for _, m := range early {
		if err := makeDirectory(newRoot+m.target, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.target, newRoot+m.target, "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("move %s: %w", m.target, err)
		}
	}
	// Nothing can reach the initramfs any more, so its one file is dropped; /proc/self/exe keeps working.
	os.Remove("/init")
	if err := switchRoot(); err != nil {
		return err
	}
	if err := makeDirectory("/tmp", 0o1777); err != nil {
		return err
	}
	return mountLate()
}

func mountDisk(device string) error {
	// Looked for by name: each mount that fails has the kernel say so on the console.
	for deadline := time.Now().Add(deviceBudget); ; time.Sleep(devicePoll) {
		err := unix.Access(device, unix.F_OK)
		if err == nil {
			return unix.Mount(device, newRoot, "ext4", unix.MS_NOATIME, "")
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}

// switchRoot turns newRoot into /. The threads of the process share root and working directory, so one call serves all.
func switchRoot() error {
	if err := unix.Chdir(newRoot); err != nil {
		return fmt.Errorf("chdir %s: %w", newRoot, err)
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move %s to /: %w", newRoot, err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("chroot %s: %w", newRoot, err)
	}
	return unix.Chdir("/")
}

// rootDevice is the value of the last root= of a kernel command line.
func rootDevice(commandLine string) string {
	device := defaultRoot
	for _, word := range strings.Fields(commandLine) {
		if value, ok := strings.CutPrefix(word, "root="); ok && value != "" {
			device = value
		}
	}
	return device
}
