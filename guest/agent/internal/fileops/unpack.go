package fileops

import (
	"archive/tar"
	"io"
	"math"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Unpack unpacks a tar archive into a directory, which is made if it is absent, with owners as numbers, modes and times. A file or
// link replaces what has its name, but for a directory; directories are merged. Nothing that the archive names is written outside
// the directory.
//
// ArchiveError: the archive is malformed or cut off, or an entry leads out of the directory, is a device, or is of a kind that no
// file system has. What was unpacked before an error stays, but for the file it came in.
func Unpack(name string, source io.Reader) error {
	_, err := os.Stat(name)
	isNew := os.IsNotExist(err)
	if err := os.MkdirAll(name, 0o755); err != nil {
		return err
	}
	fd, err := open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return pathError("open", name, err)
	}
	u := unpacker{root: beneath{fd, name}, isNew: isNew, archive: newArchive(source), parentFd: -1}
	defer unix.Close(fd)
	defer u.closeParent()
	err = u.all()
	// After an error too: a directory is closed to everyone until its mode is set.
	if settleErr := u.settle(""); err == nil {
		err = settleErr
	}
	return err
}

type unpacker struct {
	root    beneath
	isNew   bool
	archive *archive
	// pending are the directories around the last entry, outermost first. Theirs is set when the archive has left them, since what
	// is unpacked into a directory changes its time.
	pending []pendingDirectory
	// The directory of the last entry, kept open for the next: "" is the topmost, a parentFd of -1 none.
	parent   string
	parentFd int
}

type pendingDirectory struct {
	name   string
	header *tar.Header
}

func (u *unpacker) all() error {
	for {
		header, err := u.archive.next()
		if err == io.EOF {
			return u.archive.drain()
		}
		if err == nil {
			err = u.entry(header)
		}
		if err != nil {
			return err
		}
	}
}

func (u *unpacker) entry(header *tar.Header) error {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, ok := clean(header.Name)
	if !ok {
		return refuse("the entry %s leads out of the directory", header.Name)
	}
	if !isOwner(header.Uid) || !isOwner(header.Gid) {
		return refuse("the entry %s has the owner %d:%d, which no file can have", header.Name, header.Uid, header.Gid)
	}
	if err := u.settle(name); err != nil {
		return err
	}
	if header.Typeflag == tar.TypeDir {
		return u.directory(name, header)
	}
	if name == "" {
		return refuse("the entry %q is no directory and has no name", header.Name)
	}
	if err := u.enter(parentOf(name)); err != nil {
		return u.failed("open", name, err)
	}
	return u.node(name, header)
}

func (u *unpacker) node(name string, header *tar.Header) error {
	base := path.Base(name)
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		return u.file(name, base, header)
	case tar.TypeSymlink:
		err := u.replacing(base, func() error { return unix.Symlinkat(header.Linkname, u.parentFd, base) })
		if err == nil {
			err = unix.Fchownat(u.parentFd, base, header.Uid, header.Gid, unix.AT_SYMLINK_NOFOLLOW)
		}
		return u.dated(name, base, header, err)
	case tar.TypeLink:
		return u.hardLink(name, base, header)
	case tar.TypeFifo:
		err := u.replacing(base, func() error { return unix.Mknodat(u.parentFd, base, unix.S_IFIFO|0o600, 0) })
		if err == nil {
			err = u.own(base, header)
		}
		return u.dated(name, base, header, err)
	case tar.TypeChar, tar.TypeBlock:
		return refuse("the entry %s is a device, and devices are not unpacked", header.Name)
	}
	return refuse("the entry %s is of an unknown type, %q", header.Name, header.Typeflag)
}

func (u *unpacker) file(name, base string, header *tar.Header) error {
	opened := file(-1)
	err := u.replacing(base, func() error {
		flags := unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
		fd, err := unix.Openat(u.parentFd, base, flags, 0o600)
		opened = file(fd)
		return err
	})
	if err != nil {
		return u.failed("open", name, err)
	}
	err = transfer(pathWriter{opened, join(u.root.path, name)}, u.archive)
	if err == nil {
		err = u.failed("chown", name, unix.Fchown(int(opened), header.Uid, header.Gid))
	}
	// Second, since a change of the owner clears some bits.
	if err == nil {
		err = u.failed("chmod", name, unix.Fchmod(int(opened), uint32(header.Mode)&0o7777))
	}
	if closeErr := opened.Close(); err == nil {
		err = u.failed("close", name, closeErr)
	}
	if err != nil {
		unix.Unlinkat(u.parentFd, base, 0)
		return err
	}
	return u.dated(name, base, header, nil)
}

func (u *unpacker) hardLink(name, base string, header *tar.Header) error {
	target, ok := clean(header.Linkname)
	if !ok {
		return refuse("the entry %s is a link to %s, which leads out of the directory", header.Name, header.Linkname)
	}
	if target == "" || target == name {
		return refuse("the entry %s is a link to %q, which is no other file", header.Name, header.Linkname)
	}
	fd, err := u.root.open(parentOf(target), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == unix.EXDEV {
		return refuse("the entry %s is a link to %s, which leads out of the directory", header.Name, header.Linkname)
	}
	if err != nil {
		return u.failed("link", target, err)
	}
	defer unix.Close(fd)
	return u.failed("link", name, u.replacing(base, func() error {
		return unix.Linkat(fd, path.Base(target), u.parentFd, base, 0)
	}))
}

// directory makes a directory, or takes the one that is there, be it by a link.
func (u *unpacker) directory(name string, header *tar.Header) error {
	fd, err := u.root.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == unix.ENOENT || err == unix.ENOTDIR {
		if err = u.enter(parentOf(name)); err == nil {
			base := path.Base(name)
			// Private until its content is there.
			err = u.replacing(base, func() error { return unix.Mkdirat(u.parentFd, base, 0o700) })
		}
	} else if err == nil {
		err = unix.Close(fd)
	}
	if err != nil {
		return u.failed("mkdir", name, err)
	}
	// A directory that is somebody's already keeps its owner, mode and time: /tmp stays open to all.
	if name != "" || u.isNew {
		u.pending = append(u.pending, pendingDirectory{name, header})
	}
	return nil
}

// replacing makes something, once more after what has its name was removed. EISDIR: a directory has.
func (u *unpacker) replacing(base string, make func() error) error {
	err := retry(make)
	if err != unix.EEXIST {
		return err
	}
	if err := unix.Unlinkat(u.parentFd, base, 0); err != nil {
		return err
	}
	return retry(make)
}

// settle gives owner, mode and time to the directories that a name is not in.
func (u *unpacker) settle(name string) error {
	for last := len(u.pending) - 1; last >= 0; last-- {
		directory := u.pending[last]
		if name != "" && (directory.name == "" || strings.HasPrefix(name, directory.name+"/")) {
			return nil
		}
		u.pending = u.pending[:last]
		if err := u.settleOne(directory); err != nil {
			return u.failed("chmod", directory.name, err)
		}
	}
	return nil
}

func (u *unpacker) settleOne(directory pendingDirectory) error {
	fd, err := u.root.open(directory.name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	header := directory.header
	if err := unix.Fchown(fd, header.Uid, header.Gid); err != nil {
		return err
	}
	if err := unix.Fchmod(fd, uint32(header.Mode)&0o7777); err != nil {
		return err
	}
	return unix.UtimesNanoAt(fd, ".", timesOf(header), 0)
}

// enter opens the directory of an entry.
func (u *unpacker) enter(parent string) error {
	if u.parentFd >= 0 && u.parent == parent {
		return nil
	}
	u.closeParent()
	fd, err := u.root.openDirectory(parent)
	if err == nil {
		u.parent, u.parentFd = parent, fd
	}
	return err
}

func (u *unpacker) closeParent() {
	if u.parentFd >= 0 {
		unix.Close(u.parentFd)
		u.parentFd = -1
	}
}

// own gives owner and mode to what is no link.
func (u *unpacker) own(base string, header *tar.Header) error {
	if err := unix.Fchownat(u.parentFd, base, header.Uid, header.Gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	return unix.Fchmodat(u.parentFd, base, uint32(header.Mode)&0o7777, 0)
}

// dated gives its time to what was made, unless that failed.
func (u *unpacker) dated(name, base string, header *tar.Header, err error) error {
	if err == nil {
		err = unix.UtimesNanoAt(u.parentFd, base, timesOf(header), unix.AT_SYMLINK_NOFOLLOW)
	}
	return u.failed("unpack", name, err)
}

// failed names the entry in an error of the file system.
func (u *unpacker) failed(op, name string, err error) error {
	if err == unix.EXDEV {
		return refuse("the entry ./%s leads out of the directory, by a link on the way", name)
	}
	return pathError(op, join(u.root.path, name), err)
}

// isOwner tells whether a number can be that of a user or group: the largest means "unchanged" to chown(2).
func isOwner(id int) bool { return id >= 0 && id < math.MaxUint32 }

// timesOf is the time of the last change, and now as that of the last access.
func timesOf(header *tar.Header) []unix.Timespec {
	changed, err := unix.TimeToTimespec(header.ModTime)
	if err != nil || header.ModTime.IsZero() {
		changed = unix.NsecToTimespec(time.Now().UnixNano())
	}
	return []unix.Timespec{{Nsec: unix.UTIME_NOW}, changed}
}
