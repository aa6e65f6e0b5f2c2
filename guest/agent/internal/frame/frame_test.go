package frame

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

func noFlush() error { return nil }

func TestRoundTrip(t *testing.T) {
	var stream bytes.Buffer
	w := NewWriter(&stream, noFlush)
	payloads := []string{"", "a", strings.Repeat("b", 100_000)}
	for i, payload := range payloads {
		if err := w.Put(byte(i), []byte(payload)); err != nil {
			t.Fatal(err)
		}
	}
	r := NewReader(iotest.OneByteReader(&stream))
	for i, want := range payloads {
		kind, payload, err := r.Next()
		if err != nil || kind != byte(i) {
			t.Fatalf("frame %d: type %d, %v", i, kind, err)
		}
		got, err := io.ReadAll(payload)
		if err != nil || string(got) != want {
			t.Fatalf("frame %d: %d bytes, %v", i, len(got), err)
		}
	}
	if _, _, err := r.Next(); err != io.EOF {
		t.Fatalf("at the end: %v", err)
	}
}

func TestFlush(t *testing.T) {
	flushes := 0
	w := NewWriter(io.Discard, func() error { flushes++; return nil })
	w.Put(1, nil)
	w.Send(2, nil)
	w.SendInPlace(3, make([]byte, HeaderSize+1))
	if flushes != 2 {
		t.Errorf("%d flushes", flushes)
	}
}

func TestNextSkipsUnreadPayload(t *testing.T) {
	r := NewReader(strings.NewReader("\x07\x00\x00\x00\x04abcd\x08\x00\x00\x00\x01x"))
	r.Next()
	kind, payload, err := r.Next()
	got, _ := io.ReadAll(payload)
	if err != nil || kind != 8 || string(got) != "x" {
		t.Fatalf("type %d, %q, %v", kind, got, err)
	}
}

func TestTruncatedFrame(t *testing.T) {
	for _, stream := range []string{"\x01\x00", "\x01\x00\x00\x00\x04ab"} {
		r := NewReader(strings.NewReader(stream))
		_, _, err := r.Next()
		if err == nil {
			_, _, err = r.Next()
		}
		if err != io.ErrUnexpectedEOF {
			t.Errorf("%q: %v", stream, err)
		}
	}
}

func TestWhole(t *testing.T) {
	stream := "\x00\x00\x00\x00\x05hello"
	r := NewReader(strings.NewReader(stream))
	r.Next()
	if got, err := r.Whole(5); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	r = NewReader(strings.NewReader(stream))
	r.Next()
	if _, err := r.Whole(4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
}

func TestConcurrentWritersKeepFramesWhole(t *testing.T) {
	var stream bytes.Buffer
	w := NewWriter(&stream, noFlush)
	var writers sync.WaitGroup
	for kind := range byte(8) {
		writers.Add(1)
		go func() {
			defer writers.Done()
			for range 100 {
				w.Send(kind, bytes.Repeat([]byte{kind}, 50))
			}
		}()
	}
	writers.Wait()
	r := NewReader(&stream)
	for range 800 {
		kind, payload, err := r.Next()
		got, _ := io.ReadAll(payload)
		if err != nil || !bytes.Equal(got, bytes.Repeat([]byte{kind}, 50)) {
			t.Fatalf("type %d: %q, %v", kind, got, err)
		}
	}
}
