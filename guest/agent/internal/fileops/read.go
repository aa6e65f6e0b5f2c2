package fileops

import (
	"bytes"
	"io"

	"golang.org/x/sys/unix"
)

// wholeSize is up to what size a file is read before its length is told: those of /sys say 4096 and hold less.
const wholeSize = 64 << 10

// Content is a part of a file, opened for reading.
type Content struct {
	// Size is the number of bytes to come, -1 when it is not known before the end.
	Size   int64
	path   string
	file   file
	source io.Reader
}

// OpenContent opens length bytes of a file from offset; a negative length means to the end. What lies past the end of the
// file is not part of the content.
func OpenContent(path string, offset, length int64) (*Content, error) {
	opened, stat, err := openRegular(path, unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	c := &Content{Size: -1, path: path, file: opened, source: opened}
	if err := c.position(stat.Size, offset, length); err != nil {
		c.Close()
		return nil, pathError("read", path, err)
	}
	return c, nil
}

func (c *Content) position(size, offset, length int64) error {
	if offset > 0 {
		if _, err := unix.Seek(int(c.file), offset, io.SeekStart); err != nil {
			return err
		}
	}
	if length >= 0 {
		c.source = io.LimitReader(c.file, length)
	}
	if size == 0 {
		return nil
	}
	c.Size = max(size-offset, 0)
	if length >= 0 {
		c.Size = min(c.Size, length)
	}
	if c.Size > wholeSize {
		// A file that grows meanwhile must not exceed the size that was told.
		c.source = io.LimitReader(c.file, c.Size)
		return nil
	}
	return c.readWhole()
}

func (c *Content) readWhole() error {
	whole, err := io.ReadAll(io.LimitReader(c.file, c.Size))
	if err != nil {
		return err
	}
	c.Size, c.source = int64(len(whole)), bytes.NewReader(whole)
	return nil
}

// CopyTo sends the content to the sink. When the file has shrunk meanwhile, less than Size bytes come.
func (c *Content) CopyTo(sink io.Writer) error { return transfer(sink, pathedReader{c.source, c.path}) }

// Close closes the file.
func (c *Content) Close() error { return c.file.Close() }
