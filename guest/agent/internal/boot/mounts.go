// Package boot takes the guest from the initramfs to a root disk on which commands can run.
package boot

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mount is one call of mount(2) and what it needs beforehand.
type mount struct {
	source, target, fstype string
	flags                  uintptr
	data                   string
	// optional mounts may be missing from the kernel; their failure is reported and passed over.
	optional bool
}

const hardened = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC

// early is what the agent needs to find the root disk. They are moved along with it.
var early = []mount{
	{source: "devtmpfs", target: "/dev", fstype: "devtmpfs", flags: unix.MS_NOSUID, data: "mode=0755"},
	{source: "proc", target: "/proc", fstype: "proc", flags: hardened},
	{source: "sysfs", target: "/sys", fstype: "sysfs", flags: hardened},
}

// late is what commands expect, mounted on the root disk.
var late = []mount{
	{source: "devpts", target: "/dev/pts", fstype: "devpts", flags: unix.MS_NOSUID | unix.MS_NOEXEC,
		data: "mode=0620,gid=5,ptmxmode=0666"},
	{source: "shm", target: "/dev/shm", fstype: "tmpfs", flags: unix.MS_NOSUID | unix.MS_NODEV, data: "mode=1777"},
	{source: "mqueue", target: "/dev/mqueue", fstype: "mqueue", flags: hardened, optional: true},
	{source: "run", target: "/run", fstype: "tmpfs", flags: unix.MS_NOSUID | unix.MS_NODEV, data: "mode=0755"},
	{source: "cgroup2", target: "/sys/fs/cgroup", fstype: "cgroup2", flags: hardened, optional: true},
}

// deviceLinks are the names in /dev that programs expect and devtmpfs does not make.
var deviceLinks = map[string]string{
	"/dev/fd":     "/proc/self/fd",
	"/dev/stdin":  "/proc/self/fd/0",
	"/dev/stdout": "/proc/self/fd/1",
	"/dev/stderr": "/proc/self/fd/2",
}

// Early mounts what the agent itself needs, in the initramfs.
func Early() error { return mountAll(early) }

// mountLate mounts the rest, on the root disk.
func mountLate() error {
	if err := mountAll(late); err != nil {
		return err
	}
	for name, target := range deviceLinks {
		if err := os.Symlink(target, name); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}

func mountAll(mounts []mount) error {
	for _, m := range mounts {
		err := m.do()
		if err != nil && !m.optional {
			return err
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "atoll-agent: %v\n", err)
		}
	}
	return nil
}

// do makes the mount point where it is missing, and mounts.
func (m mount) do() error {
	if err := makeDirectory(m.target, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(m.source, m.target, m.fstype, m.flags, m.data); err != nil {
		return fmt.Errorf("mount %s on %s (%s): %w", m.source, m.target, m.fstype, err)
	}
	return nil
}

// makeDirectory makes one directory with exactly this mode, and accepts one that is there.
func makeDirectory(path string, mode uint32) error {
	err := unix.Mkdir(path, mode)
	if err == unix.EEXIST {
		return nil
	}
	if err == nil {
		err = unix.Chmod(path, mode)
	}
	if err != nil {
		return fmt.Errorf("mkdir %s: %w", path, err)
	}
	return nil
}
