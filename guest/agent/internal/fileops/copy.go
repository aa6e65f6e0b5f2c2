package fileops

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Copy copies a file, a symbolic link (as a link) or a whole tree to exactly the name given, with mode and owner. A file
// replaces the content of a file; nothing else that exists is replaced, and two trees are not merged.
//
// EISDIR, EEXIST: the name is a directory, or taken. EINVAL: a directory into itself, or a file onto itself. What was copied
// before an error or the context's end stays.
func Copy(ctx context.Context, from, to string) error {
	var source, target unix.Stat_t
	if err := unix.Lstat(from, &source); err != nil {
		return linkError("copy", from, to, err)
	}
	isTree := source.Mode&unix.S_IFMT == unix.S_IFDIR
	err := unix.Stat(to, &target)
	switch {
	case err == nil && sameFile(&source, &target):
		return linkError("copy", from, to, unix.EINVAL)
	case err == nil && target.Mode&unix.S_IFMT == unix.S_IFDIR && !isTree:
		return linkError("copy", from, to, unix.EISDIR)
	case isTree && contains(&source, to):
		return linkError("copy", from, to, unix.EINVAL)
	}
	return copyNode(ctx, from, to, &source)
}

func copyNode(ctx context.Context, from, to string, source *unix.Stat_t) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch source.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return copyTree(ctx, from, to, source)
	case unix.S_IFREG:
		return copyFile(ctx, from, to, source)
	case unix.S_IFLNK:
		return copyLink(from, to, source)
	}
	return copySpecial(from, to, source)
}

// copySpecial makes a FIFO, socket or device anew.
func copySpecial(from, to string, source *unix.Stat_t) error {
	err := unix.Mknod(to, source.Mode, int(source.Rdev))
	if err == nil {
		err = takeOver(to, source)
	}
	return linkError("copy", from, to, err)
}

func copyTree(ctx context.Context, from, to string, source *unix.Stat_t) error {
	// Private until its content is there and owner and mode can be set.
	if err := unix.Mkdir(to, 0o700); err != nil {
		return linkError("copy", from, to, err)
	}
	directory, err := OpenDirectory(from)
	if err != nil {
		return err
	}
	defer directory.Close()
	for _, name := range directory.names {
		stat, err := directory.stat(name)
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return pathError("stat", join(from, name), err)
		}
		if err := copyNode(ctx, join(from, name), join(to, name), &stat); err != nil {
			return err
		}
	}
	return linkError("copy", from, to, takeOver(to, source))
}

func copyFile(ctx context.Context, from, to string, source *unix.Stat_t) error {
	in, stat, err := openRegular(from, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := openForWriting(to, 0o600)
	if err != nil {
		return err
	}
	err = copyData(ctx, out, in, stat.Size)
	if err == nil {
		err = takeOver(to, source)
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	return linkError("copy", from, to, err)
}

func copyLink(from, to string, source *unix.Stat_t) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	if err = unix.Symlink(target, to); err == nil {
		err = unix.Lchown(to, int(source.Uid), int(source.Gid))
	}
	return linkError("copy", from, to, err)
}

// takeOver gives owner and mode. The owner goes with the mode: a set-uid bit must not come to stand for another user. The mode
// is second, since chown clears such bits.
func takeOver(path string, source *unix.Stat_t) error {
	if err := unix.Chown(path, int(source.Uid), int(source.Gid)); err != nil {
		return err
	}
	return unix.Chmod(path, source.Mode&0o7777)
}

// contains tells whether the path, which need not exist, is inside the directory.
func contains(directory *unix.Stat_t, path string) bool {
	parent, err := filepath.EvalSymlinks(filepath.Dir(strings.TrimRight(path, "/")))
	if err != nil {
		return false
	}
	for {
		var stat unix.Stat_t
		if unix.Stat(parent, &stat) == nil && sameFile(directory, &stat) {
			return true
		}
		if parent == "/" || parent == "." {
			return false
		}
		parent = filepath.Dir(parent)
	}
}

func sameFile(a, b *unix.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }

func join(directory, name string) string { return strings.TrimRight(directory, "/") + "/" + name }
