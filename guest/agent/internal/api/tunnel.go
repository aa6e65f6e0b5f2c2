package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"atoll/guest/agent/internal/frame"
)

// Frame types of the response of tunnel.
const (
	tunnelListening byte = iota
	tunnelConnected
)

// Frame types of the response of tunnel/accept.
const (
	_ byte = iota
	tunnelData
	tunnelEOF
)

// maxWaiting bounds the connections that the host has been told of and has not taken yet.
const maxWaiting = 1024

type tunnelSpec struct {
	Port uint16 `json:"port"`
}

func (s tunnelSpec) check() error {
	if s.Port == 0 {
		return malformed("port is 1 to 65535")
	}
	return nil
}

// connectedEvent tells of a connection by the number that the host takes it with.
type connectedEvent struct {
	ID uint64 `json:"id"`
}

// tunnels holds the connections that wait to be taken.
type tunnels struct {
	mu      sync.Mutex
	last    uint64
	waiting map[uint64]waiting
}

type waiting struct {
	connection *net.TCPConn
	by         *net.TCPListener
}

// hold keeps a connection until it is taken; false when too many wait already.
func (t *tunnels) hold(connection *net.TCPConn, by *net.TCPListener) (id uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) >= maxWaiting {
		return 0, false
	}
	if t.waiting == nil {
		t.waiting = make(map[uint64]waiting)
	}
	t.last++
	t.waiting[t.last] = waiting{connection, by}
	return t.last, true
}

// take hands a connection over; nil when there is none of that number.
func (t *tunnels) take(id uint64) *net.TCPConn {
	t.mu.Lock()
	defer t.mu.Unlock()
	connection := t.waiting[id].connection
	delete(t.waiting, id)
	return connection
}

// drop resets what a listener brought and nobody took.
func (t *tunnels) drop(by *net.TCPListener) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, each := range t.waiting {
		if each.by == by {
			abort(each.connection)
			delete(t.waiting, id)
		}
	}
}

// tunnel listens on a port of the guest's loopback for as long as the host keeps the stream, and tells of each connection.
func (s *Server) tunnel(w http.ResponseWriter, r *http.Request) error {
	spec, err := readSpec[tunnelSpec](frame.NewReader(r.Body))
	if err != nil {
		return err
	}
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(spec.Port)})
	if err != nil {
		return err
	}
	defer listener.Close()
	events := newEvents(w)
	if err := events.frames.Send(tunnelListening, nil); err != nil {
		return err
	}
	defer context.AfterFunc(r.Context(), func() { listener.Close() })()
	return s.announce(listener, events)
}

// announce tells of each connection until the listener is closed. Those that nobody took by then are reset.
func (s *Server) announce(listener *net.TCPListener, events events) error {
	defer s.tunnels.drop(listener)
	for {
		connection, err := listener.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		id, ok := s.tunnels.hold(connection, listener)
		if !ok {
			abort(connection)
			continue
		}
		text, err := json.Marshal(connectedEvent{id})
		if err != nil {
			return err
		}
		if err := events.frames.Send(tunnelConnected, text); err != nil {
			return err
		}
	}
}

// acceptTunnelled takes a connection that tunnel told of. Each side's end of data leaves the other direction as it is.
func (s *Server) acceptTunnelled(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseUint(r.URL.Query().Get("id"), 10, 64)
	if err != nil {
		return requestError{err}
	}
	connection := s.tunnels.take(id)
	if connection == nil {
		return operationError{unix.ENOENT, fmt.Sprintf("no connection %d", id)}
	}
	defer connection.Close()
	defer context.AfterFunc(r.Context(), func() { abort(connection) })()
	frames := newEvents(w).frames
	if err := http.NewResponseController(w).Flush(); err != nil {
		return err
	}
	received := make(chan struct{})
	go func() { defer close(received); receive(connection, r.Body) }()
	if err := deliverFrames(frames, connection); err != nil {
		abort(connection)
		return err
	}
	<-received
	return nil
}

func deliverFrames(frames *frame.Writer, connection io.Reader) error {
	buffer := make([]byte, frame.HeaderSize+copySize)
	for {
		n, err := connection.Read(buffer[frame.HeaderSize:])
		if n > 0 {
			if err := frames.SendInPlace(tunnelData, buffer[:frame.HeaderSize+n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return frames.Send(tunnelEOF, nil)
		}
		if err != nil {
			return err
		}
	}
}

// abort resets a connection: its program sees that it broke, not that it ended.
func abort(connection *net.TCPConn) {
	connection.SetLinger(0)
	connection.Close()
}
