package fileops

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
)

// ArchiveError is an archive that is malformed, cut off, or holds what is not unpacked.
type ArchiveError struct{ problem string }

func (e *ArchiveError) Error() string { return e.problem }

func refuse(format string, values ...any) error {
	return &ArchiveError{fmt.Sprintf(format, values...)}
}

const blockBytes = 512

// archive reads the entries of a tar stream. Unlike the reader of the standard library, it takes a stream without the
// archive's end for one that was cut off.
type archive struct {
	source *tailReader
	reader *tar.Reader
	// entry names the last one, for messages.
	entry string
}

func newArchive(source io.Reader) *archive {
	tail := &tailReader{source: source}
	return &archive{tail, tar.NewReader(tail), ""}
}

// next is the next entry, or io.EOF after the last. The content of the one before must have been read.
func (a *archive) next() (*tar.Header, error) {
	read := a.source.read
	header, err := a.reader.Next()
	if err == io.EOF {
		// What is read here is the rest of the last content's block, and one block or two of zeros.
		padding := -read & (blockBytes - 1)
		if a.source.read-read-padding < blockBytes || a.source.zeros < blockBytes {
			err = io.ErrUnexpectedEOF
		}
	}
	if err != nil {
		return nil, a.failure(err)
	}
	a.entry = header.Name
	return header, nil
}

// Read reads the content of the current entry.
func (a *archive) Read(p []byte) (int, error) {
	n, err := a.reader.Read(p)
	return n, a.failure(err)
}

// failure says what is wrong with the archive. Errors of the connection stay what they are.
func (a *archive) failure(err error) error {
	where := "at its first entry"
	if a.entry != "" {
		where = "at or after the entry " + a.entry
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refuse("the archive is cut off, %s", where)
	case errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong):
		return refuse("the body is no tar archive, or a damaged one, %s", where)
	}
	return err
}

// drain reads what comes after the archive's end: most archives are filled up to some size.
func (a *archive) drain() error { return transfer(io.Discard, a.source) }

// tailReader counts bytes, and how many zeros the last of them are.
type tailReader struct {
	source      io.Reader
	read, zeros int64
}

func (r *tailReader) Read(p []byte) (int, error) {
	n, err := r.source.Read(p)
	zeros := 0
	for zeros < n && p[n-1-zeros] == 0 {
		zeros++
	}
	if zeros < n {
		r.zeros = 0
	}
	r.zeros += int64(zeros)
	r.read += int64(n)
	return n, err
}
