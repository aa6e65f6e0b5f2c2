package channel

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Epoch is one connection of the host, as a net.Conn. It ends when the host leaves or greets anew, or by Close; then every
// call on it fails at once.
type Epoch struct {
	port *Port
	// received is what was read and not handed out yet. It belongs to whoever holds port.reading.
	received []byte
	buffer   []byte
	// greeting is the HELLO of the next epoch, when one came by before this one's last read. It belongs to whoever holds
	// port.reading.
	greeting []byte

	end   sync.Once
	ended chan struct{}
	// quiesced is set when the epoch is about to end for a snapshot.
	quiesced atomic.Bool
}

// Read returns what the host sent. io.EOF: the epoch is over.
func (e *Epoch) Read(p []byte) (int, error) {
	e.port.reading.Lock()
	defer e.port.reading.Unlock()
	if e.over() {
		return 0, net.ErrClosed
	}
	if len(e.received) > 0 {
		n := copy(p, e.received)
		e.received = e.received[n:]
		return n, nil
	}
	if len(p) >= messageSize {
		return e.receive(p)
	}
	if e.buffer == nil {
		e.buffer = make([]byte, messageSize)
	}
	n, err := e.receive(e.buffer)
	if err != nil {
		return 0, err
	}
	e.received = e.buffer[copy(p, e.buffer[:n]):n]
	return min(n, len(p)), nil
}

// receive reads one message into p, which has room for it, and ends the epoch when the message says so.
func (e *Epoch) receive(p []byte) (int, error) {
	n, err := e.port.device.Read(p)
	if err != nil {
		e.Close()
		return 0, io.EOF
	}
	if isHello(p[:n]) {
		// The epoch may have been closed while this was read: the greeting counts all the same.
		e.greeting = append([]byte(nil), p[:n]...)
		e.Close()
		return 0, io.EOF
	}
	return n, nil
}

// Write sends to the host. It waits while the host does not read, until the epoch is closed.
func (e *Epoch) Write(p []byte) (int, error) {
	e.port.writing.Lock()
	defer e.port.writing.Unlock()
	if e.over() {
		return 0, net.ErrClosed
	}
	return e.port.device.Write(p)
}

// Close ends the epoch: reads and writes under way return, and the port waits for the next hello.
func (e *Epoch) Close() error {
	e.end.Do(func() {
		past := time.Unix(1, 0)
		// ended is closed last: Accept goes on from there and sets deadlines of its own.
		defer close(e.ended)
		e.port.device.SetReadDeadline(past)
		e.port.device.SetWriteDeadline(past)
	})
	return nil
}

func (e *Epoch) over() bool {
	select {
	case <-e.ended:
		return true
	default:
		return false
	}
}

// LocalAddr is part of net.Conn.
func (e *Epoch) LocalAddr() net.Addr { return address{} }

// RemoteAddr is part of net.Conn.
func (e *Epoch) RemoteAddr() net.Addr { return address{} }

// The deadlines of the device belong to Close, which works through them; the HTTP/2 server asks for none.

// SetDeadline does nothing.
func (e *Epoch) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (e *Epoch) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (e *Epoch) SetWriteDeadline(time.Time) error { return nil }

type epochKey struct{}

// WithEpoch is an http.Server's ConnContext: handlers then find their epoch by Quiesce.
func WithEpoch(ctx context.Context, connection net.Conn) context.Context {
	return context.WithValue(ctx, epochKey{}, connection)
}

// Quiesce lets what the requests of an epoch began go on without them when the host ends it: see Quiesced. The agent does not end
// it: on a busy machine the answer may still be on its way to the port.
func Quiesce(ctx context.Context) {
	if epoch, ok := ctx.Value(epochKey{}).(*Epoch); ok {
		epoch.quiesced.Store(true)
	}
}

// Quiesced tells that the epoch of a request ends because the machine is about to be saved: whoever asked has not gone away.
func Quiesced(ctx context.Context) bool {
	epoch, ok := ctx.Value(epochKey{}).(*Epoch)
	return ok && epoch.quiesced.Load()
}
