package fileops

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// beneath is a directory that whatever is named below it cannot lead out of.
type beneath struct {
	fd   int
	path string
}

// openAttempts bounds the repeats of an opening that the kernel could not decide, as something was renamed meanwhile.
const openAttempts = 8

// open opens a name below the directory. EXDEV: a link on the way leads out.
func (b beneath) open(name string, flags uint64, mode uint64) (fd int, err error) {
	how := unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC,
		Mode:    mode,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	}
	if name == "" {
		name = "."
	}
	for range openAttempts {
		err = retry(func() error {
			fd, err = unix.Openat2(b.fd, name, &how)
			return err
		})
		if err != unix.EAGAIN {
			break
		}
	}
	return fd, err
}

// openDirectory opens a directory below, and makes what is missing of it.
func (b beneath) openDirectory(name string) (int, error) {
	fd, err := b.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != unix.ENOENT || name == "" {
		return fd, err
	}
	parent, err := b.openDirectory(parentOf(name))
	if err != nil {
		return -1, err
	}
	defer unix.Close(parent)
	if err := unix.Mkdirat(parent, path.Base(name), 0o755); err != nil {
		return -1, err
	}
	return b.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// parentOf is the directory of a clean name, "" for the topmost.
func parentOf(name string) string {
	at := strings.LastIndexByte(name, '/')
	return name[:max(at, 0)]
}

// clean makes "a/b" of the names "./a//b/" and "a/b", and "" of ".". It refuses one that is absolute or has ".." in it.
func clean(name string) (string, bool) {
	if strings.HasPrefix(name, "/") {
		return "", false
	}
	parts := strings.Split(name, "/")
	kept := parts[:0]
	for _, part := range parts {
		switch part {
		case "..":
			return "", false
		case "", ".":
		default:
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "/"), true
}
