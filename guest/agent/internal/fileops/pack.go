package fileops

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// Tree is a directory with all below it, or a single file, opened to be packed.
type Tree struct {
	path      string
	stat      unix.Stat_t
	directory *Directory
}

// OpenTree opens what the path leads to. EINVAL: a socket or a device, which no archive carries.
func OpenTree(name string) (*Tree, error) {
	t := &Tree{path: name}
	if err := unix.Stat(name, &t.stat); err != nil {
		return nil, pathError("stat", name, err)
	}
	switch t.stat.Mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFIFO:
		return t, nil
	case unix.S_IFDIR:
		var err error
		t.directory, err = OpenDirectory(name)
		return t, err
	}
	return nil, pathError("pack", name, unix.EINVAL)
}

// Close closes the tree.
func (t *Tree) Close() error {
	if t.directory == nil {
		return nil
	}
	return t.directory.Close()
}

// Pack writes the tree as a tar archive: the directory as "./" and then what it holds, each name beginning with "./"; a single
// file as "./" and its name. Links are packed as links. Sockets and devices are left out, and so is what the kernel makes up:
// of a mounted /proc or /sys only the directory comes. What vanishes meanwhile is left out; a file that shrinks is an error.
func (t *Tree) Pack(ctx context.Context, sink io.Writer) error {
	p := packer{ctx: ctx, out: tar.NewWriter(sink), first: map[inode]*linked{}}
	err := t.packInto(&p)
	if err != nil {
		return err
	}
	return p.out.Close()
}

func (t *Tree) packInto(p *packer) error {
	if t.directory != nil {
		return p.directory(t.directory, "./", &t.stat)
	}
	entry := node{directory: unix.AT_FDCWD, base: t.path, name: "./" + path.Base(t.path), path: t.path, follow: true}
	return p.node(entry, &t.stat)
}

type inode struct{ device, number uint64 }

// linked is a file of more than one name: how it was packed, and how many of its names are still to come at most.
type linked struct {
	name string
	left uint64
}

type packer struct {
	ctx   context.Context
	out   *tar.Writer
	first map[inode]*linked
}

// node is where something is, and what the archive calls it.
type node struct {
	directory        int
	base, name, path string
	follow           bool
}

func (p *packer) directory(d *Directory, name string, stat *unix.Stat_t) error {
	header := headerOf(name, stat)
	header.Typeflag = tar.TypeDir
	if err := p.out.WriteHeader(header); err != nil {
		return err
	}
	for _, each := range d.names {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		at := node{int(d.file.Fd()), each, name + each, join(d.file.Name(), each), false}
		child, err := d.stat(each)
		if err == nil {
			err = p.node(at, &child)
		} else if err != unix.ENOENT {
			err = pathError("stat", at.path, err)
		}
		if err != nil && err != unix.ENOENT {
			return err
		}
	}
	return nil
}

// node packs one. ENOENT, bare: it is gone.
func (p *packer) node(at node, stat *unix.Stat_t) error {
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return p.subdirectory(at, stat)
	case unix.S_IFREG:
		return p.file(at)
	case unix.S_IFLNK:
		return p.link(at, stat)
	case unix.S_IFIFO:
		header := headerOf(at.name, stat)
		header.Typeflag = tar.TypeFifo
		return p.out.WriteHeader(header)
	}
	return nil
}

func (p *packer) subdirectory(at node, stat *unix.Stat_t) error {
	fd, err := openat(at, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	opened := os.NewFile(uintptr(fd), at.path)
	defer opened.Close()
	d := &Directory{file: opened}
	if !isKernels(fd) {
		if d, err = namesOf(opened); err != nil {
			return err
		}
	}
	return p.directory(d, at.name+"/", stat)
}

// isKernels tells whether a directory is of a file system whose files the kernel makes up: their sizes say nothing, and reading
// some of them waits or does something.
func isKernels(fd int) bool {
	var stat unix.Statfs_t
	if unix.Fstatfs(fd, &stat) != nil {
		return false
	}
	switch stat.Type {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC:
		return true
	}
	return false
}

func (p *packer) file(at node) error {
	fd, err := openat(at, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return err
	}
	opened := file(fd)
	defer opened.Close()
	// Asked anew of what is open: the name may stand for something else by now.
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return pathError("stat", at.path, err)
	}
	if err := requireRegular(stat.Mode); err != nil {
		return pathError("open", at.path, err)
	}
	header := headerOf(at.name, &stat)
	if earlier := p.earlierName(at.name, &stat); earlier != "" {
		header.Typeflag, header.Linkname = tar.TypeLink, earlier
		return p.out.WriteHeader(header)
	}
	header.Typeflag, header.Size = tar.TypeReg, stat.Size
	if err := p.out.WriteHeader(header); err != nil {
		return err
	}
	return p.content(at, opened, stat.Size)
}

// earlierName is the name under which a file was packed before, or "".
func (p *packer) earlierName(name string, stat *unix.Stat_t) string {
	if stat.Nlink < 2 {
		return ""
	}
	key := inode{stat.Dev, stat.Ino}
	known := p.first[key]
	if known == nil {
		p.first[key] = &linked{name, uint64(stat.Nlink) - 1}
		return ""
	}
	if known.left--; known.left == 0 {
		delete(p.first, key)
	}
	return known.name
}

func (p *packer) content(at node, opened file, size int64) error {
	// A file that grows meanwhile must not exceed the size that was told.
	whole := &io.LimitedReader{R: opened, N: size}
	if err := transfer(p.out, pathedReader{whole, at.path}); err != nil {
		return err
	}
	if whole.N > 0 {
		return pathError("read", at.path, fmt.Errorf("it lost %d bytes while it was packed: %w", whole.N, unix.EIO))
	}
	return nil
}

func (p *packer) link(at node, stat *unix.Stat_t) error {
	target, err := readlinkat(at)
	if err != nil {
		return err
	}
	header := headerOf(at.name, stat)
	header.Typeflag, header.Linkname = tar.TypeSymlink, target
	return p.out.WriteHeader(header)
}

// headerOf is an entry but for its type. PAX alone has room for long names, large numbers and parts of a second.
func headerOf(name string, stat *unix.Stat_t) *tar.Header {
	return &tar.Header{
		Format:  tar.FormatPAX,
		Name:    name,
		Mode:    int64(stat.Mode & 0o7777),
		Uid:     int(stat.Uid),
		Gid:     int(stat.Gid),
		ModTime: time.Unix(stat.Mtim.Unix()),
	}
}

// openat opens a node; ENOENT comes bare, everything else with the path.
func openat(at node, flags int) (fd int, err error) {
	if !at.follow {
		flags |= unix.O_NOFOLLOW
	}
	err = retry(func() error {
		fd, err = unix.Openat(at.directory, at.base, flags|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil && err != unix.ENOENT {
		err = pathError("open", at.path, err)
	}
	return fd, err
}

func readlinkat(at node) (string, error) {
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(at.directory, at.base, target)
	if err != nil && err != unix.ENOENT {
		err = pathError("readlink", at.path, err)
	}
	return string(target[:max(n, 0)]), err
}

// pathedReader puts the path into the errors of reading.
type pathedReader struct {
	io.Reader
	path string
}

func (r pathedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = pathError("read", r.path, err)
	}
	return n, err
}
