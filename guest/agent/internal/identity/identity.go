// Package identity sets what makes one guest differ from its clones: name, machine id, clock and entropy.
package identity

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// writeFile makes the file's content what is given. One that differs in nothing but its bytes is written where it is, if at all: for an
// emulated guest that wakes, all that comes with a new file in its place is code to be translated first.
func writeFile(path, content string, mode os.FileMode) error {
	if overwrite(path, content) {
		return nil
	}
	return replaceFile(path, content, mode)
}

// overwrite answers whether the file has the content now: it does for a regular file of that length and of one name.
func overwrite(path, content string) bool {
	file, err := unix.Open(path, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(file)
	var stat unix.Stat_t
	if err := unix.Fstat(file, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return false
	}
	if stat.Nlink != 1 || stat.Size != int64(len(content)) {
		return false
	}
	old := make([]byte, len(content))
	if n, err := unix.Pread(file, old, 0); err == nil && string(old[:n]) == content {
		return true
	}
	n, err := unix.Pwrite(file, []byte(content), 0)
	return err == nil && n == len(content)
}

// replaceFile puts a new file in the old one's place in one step, and makes its directory where that is missing.
func replaceFile(path, content string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	draft := path + ".atoll"
	os.Remove(draft)
	if err := os.WriteFile(draft, []byte(content), mode); err != nil {
		return err
	}
	if err := os.Rename(draft, path); err != nil {
		os.Remove(draft)
		return err
	}
	return nil
}
