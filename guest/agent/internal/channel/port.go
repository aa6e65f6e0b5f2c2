// Package channel turns the one port to the host into a sequence of connections ("epochs"), each opened by a hello.
package channel

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// hostPoll is how often the port is asked whether the host is back. The kernel has no event for it to wait on.
// The host is away only for the moment of a snapshot or a reconnection, so this may be short.
const hostPoll = 2 * time.Millisecond

// readyBudget bounds the writing of a READY, in case what the host left unread fills the port.
const readyBudget = 2 * time.Second

// Port is the channel to the host. As a net.Listener it hands out one epoch after the other, never two at once: Accept
// waits for the end of the epoch before.
type Port struct {
	device device
	guest  Guest
	// Whoever reads from or writes to the device holds the lock of that direction.
	reading, writing sync.Mutex
	// current is the epoch handed out last. Only Accept touches it.
	current *Epoch
}

// Guest is told what a machine needs that has come out of a snapshot, before anything is served.
type Guest struct {
	// Wake takes up the time, and bytes that no other machine gets.
	Wake func(now time.Time, seed []byte) error
	// Become makes the guest another: the request is that of POST /configure.
	Become func(request []byte) error
}

// Open finds the virtio-serial port of this name and opens it for good.
func Open(name string, guest Guest) (*Port, error) {
	device, err := openDevice(name)
	if err != nil {
		return nil, err
	}
	return &Port{device: device, guest: guest}, nil
}

// Accept waits for the end of the epoch before and the next hello. It fails only when the port does.
func (p *Port) Accept() (net.Conn, error) {
	var left []byte
	if p.current != nil {
		<-p.current.ended
		p.settle()
		left = p.current.greeting
	}
	received, err := p.greet(left)
	if err != nil {
		return nil, err
	}
	p.device.SetWriteDeadline(time.Time{})
	p.current = &Epoch{port: p, received: received, ended: make(chan struct{})}
	return p.current, nil
}

// settle waits until the last read and write of the ended epoch have returned. It starts no other, since it looks whether
// it is over each time it has the lock.
func (p *Port) settle() {
	p.reading.Lock()
	p.writing.Lock()
	p.writing.Unlock()
	p.reading.Unlock()
}

// greet goes through the hello, beginning with bytes that were read already, and returns the bytes that follow it.
func (p *Port) greet(received []byte) ([]byte, error) {
	p.device.SetReadDeadline(time.Time{})
	buffer := make([]byte, messageSize)
	host := greeter{guest: p.guest}
	for {
		answer, open := host.feed(received)
		if len(answer) > 0 {
			p.device.SetWriteDeadline(time.Now().Add(readyBudget))
			if _, err := p.device.Write(answer); err != nil {
				host = greeter{guest: p.guest}
			}
		}
		if open {
			return host.pending, nil
		}
		n, err := p.device.Read(buffer)
		received = buffer[:n]
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			host = greeter{guest: p.guest}
			time.Sleep(hostPoll)
		default:
			return nil, err
		}
	}
}

// Close is part of net.Listener. The port stays open as long as the agent runs.
func (p *Port) Close() error { return nil }

// Addr is part of net.Listener.
func (p *Port) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "virtio" }
func (address) String() string  { return "agent" }
