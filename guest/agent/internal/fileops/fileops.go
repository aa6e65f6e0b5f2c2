// Package fileops carries out the file operations of the host, one file each.
//
// Every error of the file system is a *fs.PathError or *os.LinkError that wraps its errno. Paths are absolute.
package fileops

import (
	"io"
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Absolute takes a path from the root directory. It does not clean it: "a/.." is a's parent even if a is a link.
func Absolute(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return "/" + path
}

// file is an open descriptor, used without Go's poller: a special file then answers EAGAIN where it would wait for ever.
type file int

// openRegular opens a file and refuses what is not regular: EISDIR for a directory, EINVAL for a FIFO, socket or device,
// on which an open or a read may wait without end.
func openRegular(path string, flags int, mode uint32) (file, unix.Stat_t, error) {
	var stat unix.Stat_t
	fd, err := open(path, flags|unix.O_NONBLOCK|unix.O_NOCTTY, mode)
	if err == unix.ENXIO {
		err = unix.EINVAL
	}
	if err != nil {
		return -1, stat, pathError("open", path, err)
	}
	err = unix.Fstat(fd, &stat)
	if err == nil {
		err = requireRegular(stat.Mode)
	}
	if err != nil {
		unix.Close(fd)
		return -1, stat, pathError("open", path, err)
	}
	return file(fd), stat, nil
}

func requireRegular(mode uint32) error {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return nil
	case unix.S_IFDIR:
		return unix.EISDIR
	}
	return unix.EINVAL
}

func open(path string, flags int, mode uint32) (fd int, err error) {
	err = retry(func() error {
		fd, err = unix.Open(path, flags|unix.O_CLOEXEC, mode)
		return err
	})
	return fd, err
}

func (f file) Read(p []byte) (n int, err error) {
	err = retry(func() error {
		n, err = unix.Read(int(f), p)
		return err
	})
	if err != nil {
		return 0, err
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (f file) Write(p []byte) (written int, err error) {
	for written < len(p) && err == nil {
		err = retry(func() error {
			n, err := unix.Write(int(f), p[written:])
			if n == 0 && err == nil {
				err = unix.EIO
			}
			written += max(n, 0)
			return err
		})
	}
	return written, err
}

func (f file) Close() error { return unix.Close(int(f)) }

// retry repeats a system call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// pathError states operation, path and errno; nil stays nil.
func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// blockSize is how much is moved at once.
const blockSize = 256 << 10

var blocks = sync.Pool{New: func() any { return new([blockSize]byte) }}

// transfer copies all of the source with one block of memory. Errors name what failed: the source's come as they are.
func transfer(sink io.Writer, source io.Reader) error {
	block := blocks.Get().(*[blockSize]byte)
	defer blocks.Put(block)
	// The wrappers keep io.CopyBuffer from methods that bypass the block.
	_, err := io.CopyBuffer(struct{ io.Writer }{sink}, struct{ io.Reader }{source}, block[:])
	return err
}
