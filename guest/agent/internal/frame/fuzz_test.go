package frame

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
)

// FuzzReader: whatever the bytes and however they arrive, the frames are the same, and a payload beyond the limit is not held.
func FuzzReader(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 2, '{', '}', 1, 0, 0, 0, 0})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 'x'})
	f.Add([]byte{3, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, one := read(NewReader(bytes.NewReader(data))), read(NewReader(iotest.OneByteReader(bytes.NewReader(data))))
		if !bytes.Equal(whole, one) {
			t.Errorf("%q at once, %q byte by byte", whole, one)
		}
		if len(whole) > 2*len(data)+64 {
			t.Errorf("%d bytes became %d", len(data), len(whole))
		}
	})
}

// read is all that a reader makes of its source, as text.
func read(frames *Reader) []byte {
	const limit = 64
	var out bytes.Buffer
	for {
		kind, _, err := frames.Next()
		if err != nil {
			out.WriteString(err.Error())
			return out.Bytes()
		}
		payload, err := frames.Whole(limit)
		out.WriteByte(kind)
		if err == io.ErrUnexpectedEOF || err == io.EOF {
			return append(out.Bytes(), "cut off"...)
		}
		out.Write(payload)
	}
}
