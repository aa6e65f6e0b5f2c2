package fileops

import (
	"os"

	"golang.org/x/sys/unix"
)

// Chmod sets the 12 permission bits of what the path leads to.
func Chmod(path string, mode uint32) error {
	return pathError("chmod", path, unix.Chmod(path, mode))
}

// Chown sets owner and group of what the path leads to; -1 keeps.
func Chown(path string, uid, gid int) error {
	return pathError("chown", path, unix.Chown(path, uid, gid))
}

// Mkdir makes a directory, mode 0755. With parents, those that are missing too, and a directory that exists is accepted.
func Mkdir(path string, parents bool) error {
	if parents {
		return os.MkdirAll(path, 0o755)
	}
	return pathError("mkdir", path, unix.Mkdir(path, 0o755))
}

// Rename moves within one file system, and replaces what is at the new name as rename(2) does.
func Rename(from, to string) error {
	return linkError("rename", from, to, unix.Rename(from, to))
}

// Symlink makes a link with any text as its target.
func Symlink(target, path string) error {
	return pathError("symlink", path, unix.Symlink(target, path))
}

// Readlink returns the text of a link. EINVAL: it is none.
func Readlink(path string) (string, error) {
	target, err := os.Readlink(path)
	return target, err
}

// Truncate cuts a file to size bytes, or extends it by a hole.
func Truncate(path string, size int64) error {
	return pathError("truncate", path, unix.Truncate(path, size))
}

func linkError(op, from, to string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}
