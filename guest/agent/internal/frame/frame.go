// Package frame reads and writes the frames of the duplex routes: type (1 byte), length (4 bytes, big-endian), payload.
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// HeaderSize is the length of a frame's header in bytes.
const HeaderSize = 5

// ErrTooLarge: a payload that has to be held whole exceeds the reader's limit.
var ErrTooLarge = errors.New("frame too large")

// Reader takes frames from a stream. It holds no payload: one that the caller leaves unread is skipped by Next.
type Reader struct {
	source  io.Reader
	payload io.LimitedReader
}

// NewReader reads frames from the source.
func NewReader(source io.Reader) *Reader {
	return &Reader{source: source, payload: io.LimitedReader{R: source}}
}

// Next goes to the next frame and returns its type and payload. io.EOF: the stream ended between two frames.
func (r *Reader) Next() (kind byte, payload io.Reader, err error) {
	if r.payload.N > 0 {
		if _, err := io.Copy(io.Discard, &r.payload); err != nil {
			return 0, nil, err
		}
	}
	if r.payload.N > 0 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	var header [HeaderSize]byte
	if _, err := io.ReadFull(r.source, header[:]); err != nil {
		return 0, nil, err
	}
	r.payload.N = int64(binary.BigEndian.Uint32(header[1:]))
	return header[0], &r.payload, nil
}

// Whole reads the rest of the current frame's payload, of at most limit bytes.
func (r *Reader) Whole(limit int64) ([]byte, error) {
	if r.payload.N > limit {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, r.payload.N, limit)
	}
	payload := make([]byte, r.payload.N)
	_, err := io.ReadFull(&r.payload, payload)
	return payload, err
}

// Writer puts frames into a stream, each in one write. Its methods may be called by many at once.
type Writer struct {
	mu    sync.Mutex
	sink  io.Writer
	flush func() error
}

// NewWriter writes frames to the sink. The sink may hold them back until flush is called.
func NewWriter(sink io.Writer, flush func() error) *Writer {
	return &Writer{sink: sink, flush: flush}
}

// Put adds one frame, which leaves with the next flush or with the end of the stream.
func (w *Writer) Put(kind byte, payload []byte) error {
	return w.write(kind, append(make([]byte, HeaderSize, HeaderSize+len(payload)), payload...), false)
}

// Send adds one frame and flushes.
func (w *Writer) Send(kind byte, payload []byte) error {
	return w.write(kind, append(make([]byte, HeaderSize, HeaderSize+len(payload)), payload...), true)
}

// SendInPlace is Send of a frame whose first HeaderSize bytes are free for the header; the payload follows them.
func (w *Writer) SendInPlace(kind byte, frame []byte) error { return w.write(kind, frame, true) }

func (w *Writer) write(kind byte, frame []byte, flush bool) error {
	frame[0] = kind
	binary.BigEndian.PutUint32(frame[1:HeaderSize], uint32(len(frame)-HeaderSize))
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.sink.Write(frame)
	if err == nil && flush {
		err = w.flush()
	}
	return err
}
