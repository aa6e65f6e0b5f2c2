// Package drives mounts the disks that outlive the guest, and leaves them whole.
package drives

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	home   = "/mnt/drives"
	labels = "/dev/disk/by-label"
)

// Drive is a disk, known by the serial number that the host gave it.
type Drive struct {
	ID, Serial, Label string
	ReadOnly          bool
}

// Mount mounts each drive at /mnt/drives/<id>, and links its device by its label. What is mounted already stays as it is.
func Mount(drives []Drive) error {
	devices, err := devicesBySerial(blocks)
	if err != nil {
		return err
	}
	for _, drive := range drives {
		device, ok := devices[drive.Serial]
		if !ok {
			return fmt.Errorf("drive %s: no disk has the serial number %q: %w", drive.ID, drive.Serial, unix.ENODEV)
		}
		if err := drive.mount(device); err != nil {
			return fmt.Errorf("drive %s: %w", drive.ID, err)
		}
	}
	return nil
}

// Check tells what keeps these from being drives: each name becomes one of a file.
func Check(drives []Drive) error {
	for _, drive := range drives {
		for _, name := range []string{drive.ID, drive.Serial, drive.Label} {
			if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
				return fmt.Errorf("%q is not the name of a file", name)
			}
		}
	}
	return nil
}

func (d Drive) mount(device string) error {
	if err := link(filepath.Join(labels, d.Label), device); err != nil {
		return err
	}
	target := filepath.Join(home, d.ID)
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if isMountPoint(target) {
		return nil
	}
	flags := uintptr(unix.MS_NOATIME)
	if d.ReadOnly {
		flags |= unix.MS_RDONLY
	}
	if err := unix.Mount(device, target, "ext4", flags, ""); err != nil {
		return fmt.Errorf("mount %s on %s: %w", device, target, err)
	}
	return nil
}

func link(path, device string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	os.Remove(path)
	return os.Symlink(device, path)
}

// isMountPoint tells whether a directory is on another device than the one it lies in.
func isMountPoint(dir string) bool {
	var own, parent unix.Stat_t
	return unix.Stat(dir, &own) == nil && unix.Stat(filepath.Dir(dir), &parent) == nil && own.Dev != parent.Dev
}

// Freeze writes out all that drives hold back, empties their journals and lets nobody write any more: the machine may then end
// at any moment, and the next mount finds a file system that was left in order. Those that are read-only have nothing to write.
func Freeze() error {
	mounts, err := os.ReadDir(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var failed []error
	for _, mount := range mounts {
		if err := freeze(filepath.Join(home, mount.Name())); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// From linux/fs.h, _IOWR('X', 119, int).
const fifreeze = 0xc0045877

func freeze(dir string) error {
	var status unix.Statfs_t
	if err := unix.Statfs(dir, &status); err != nil {
		return &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if status.Flags&unix.ST_RDONLY != 0 || !isMountPoint(dir) {
		return nil
	}
	root, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	// Busy: it is frozen already.
	if err := unix.IoctlSetInt(int(root.Fd()), fifreeze, 0); err != nil && err != unix.EBUSY {
		return &fs.PathError{Op: "freeze", Path: dir, Err: err}
	}
	return nil
}
