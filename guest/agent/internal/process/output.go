package process

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// ChunkSize is the most that Pump delivers at once, in bytes.
	ChunkSize = 64 << 10
	// firstChunk is what a stream begins with; most commands print less.
	firstChunk = 4 << 10
)

// Output is our end of a pipe that a command writes to.
type Output struct{ file *os.File }

// Pump delivers what the command writes, in order, until the pipe ends, or the command did and the pipe's content at that
// moment is delivered. Each chunk begins with headroom bytes for the receiver to fill in, and is valid during the call.
//
// When deliver fails or the command has left children behind that hold the pipe, the rest is read and dropped for as long
// as they live: a server started in the background must neither block nor die of SIGPIPE at its next line of output.
func (o *Output) Pump(headroom int, deliver func(chunk []byte) error) {
	buffer := make([]byte, headroom+firstChunk)
	for {
		n, err := o.file.Read(buffer[headroom:])
		if n > 0 && deliver(buffer[:headroom+n]) != nil {
			go o.discard()
			return
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			o.drain(headroom, deliver)
			return
		case err != nil:
			o.file.Close()
			return
		}
		if n == firstChunk && len(buffer) == headroom+firstChunk {
			buffer = make([]byte, headroom+ChunkSize)
		}
	}
}

// CommandEnded tells Pump that the command has ended.
func (o *Output) CommandEnded() { o.file.SetReadDeadline(time.Unix(1, 0)) }

// drain delivers what is in the pipe now. It reads past Go's poller, which refuses to read once a deadline is over even when
// there is data.
func (o *Output) drain(headroom int, deliver func([]byte) error) {
	left := o.held()
	buffer := make([]byte, headroom+min(left, ChunkSize))
	for left > 0 {
		n, err := o.readNow(buffer[headroom:][:min(left, ChunkSize)])
		if err == io.EOF {
			o.file.Close()
			return
		}
		if n == 0 || deliver(buffer[:headroom+n]) != nil {
			break
		}
		left -= n
	}
	go o.discard()
}

// held is the number of bytes in the pipe.
func (o *Output) held() int {
	held := 0
	raw, err := o.file.SyscallConn()
	if err == nil {
		raw.Control(func(fd uintptr) { held, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	return held
}

// readNow reads once and never waits; 0 without an error when there is nothing.
func (o *Output) readNow(p []byte) (n int, err error) {
	raw, err := o.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(fd uintptr) { n, err = syscall.Read(int(fd), p) })
	switch {
	case controlErr != nil:
		return 0, controlErr
	case err == syscall.EAGAIN || err == syscall.EINTR:
		return 0, nil
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// discard reads to the end of the pipe with little memory.
func (o *Output) discard() {
	defer o.file.Close()
	buffer := make([]byte, firstChunk)
	for {
		_, err := o.file.Read(buffer)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			o.file.SetReadDeadline(time.Time{})
		case err != nil:
			return
		}
	}
}
