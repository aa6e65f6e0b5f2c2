package fileops

import (
	"io"

	"golang.org/x/sys/unix"
)

// Write makes or truncates a file and fills it from the source. The mode is given to a file that it makes, regardless of the
// umask; one that exists keeps its own. What was written before an error stays.
func Write(path string, mode uint32, source io.Reader) error {
	opened, err := openForWriting(path, mode)
	if err != nil {
		return err
	}
	err = transfer(pathWriter{opened, path}, source)
	if closeErr := opened.Close(); err == nil {
		err = pathError("close", path, closeErr)
	}
	return err
}

func openForWriting(path string, mode uint32) (file, error) {
	fd, err := open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, mode)
	if err == nil {
		return file(fd), pathError("chmod", path, unix.Fchmod(fd, mode))
	}
	if err != unix.EEXIST {
		return -1, pathError("open", path, err)
	}
	// O_CREAT again, since the name may be a link to a file that does not exist yet.
	opened, _, err := openRegular(path, unix.O_WRONLY|unix.O_CREAT, mode)
	if err != nil {
		return -1, err
	}
	if err := unix.Ftruncate(int(opened), 0); err != nil {
		opened.Close()
		return -1, pathError("truncate", path, err)
	}
	return opened, nil
}

// pathWriter puts the path into the errors of writing.
type pathWriter struct {
	file
	path string
}

func (w pathWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	return n, pathError("write", w.path, err)
}
