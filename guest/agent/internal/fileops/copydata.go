package fileops

import (
	"context"
	"io"

	"golang.org/x/sys/unix"
)

// stride is how much the kernel copies between two looks at the context.
const stride = 16 << 20

// copyData copies the data of a regular file and leaves its holes: the copy of a disk image is as small as the image.
func copyData(ctx context.Context, out, in file, size int64) error {
	if size == 0 {
		// A file of /proc says nothing of its size.
		return transfer(out, in)
	}
	for position := int64(0); position < size; {
		start, err := unix.Seek(int(in), position, unix.SEEK_DATA)
		if err == unix.ENXIO {
			break
		}
		if err != nil {
			return transfer(out, in)
		}
		end, err := unix.Seek(int(in), start, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		if err := copyRange(ctx, out, in, start, end); err != nil {
			return err
		}
		position = end
	}
	// A hole at the end is part of the size.
	return unix.Ftruncate(int(out), size)
}

// copyRange copies the bytes from start to end, within the kernel where the file systems allow it.
func copyRange(ctx context.Context, out, in file, start, end int64) error {
	from, to := start, start
	for from < end {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := unix.CopyFileRange(int(in), &from, int(out), &to, int(min(end-from, stride)), 0)
		if err != nil {
			return copyByHand(out, in, from, end)
		}
		if n == 0 {
			return nil
		}
	}
	return nil
}

func copyByHand(out, in file, start, end int64) error {
	if _, err := unix.Seek(int(in), start, io.SeekStart); err != nil {
		return err
	}
	if _, err := unix.Seek(int(out), start, io.SeekStart); err != nil {
		return err
	}
	return transfer(out, io.LimitReader(in, end-start))
}
