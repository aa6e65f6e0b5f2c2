package api

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"golang.org/x/sys/unix"
)

// copySize is how much of a connection is passed on at once, in bytes.
const copySize = 64 << 10

// connect carries a TCP connection to one of the guest's own ports, which the authority names; its host is not looked at.
// The response's headers mean that the port answered. A connection that breaks resets the stream.
func connect(w http.ResponseWriter, r *http.Request) error {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		return requestError{err}
	}
	connection, err := dialOwn(r.Context(), port)
	if err != nil {
		return err
	}
	defer connection.Close()
	defer context.AfterFunc(r.Context(), func() { abort(connection) })()
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err != nil {
		return err
	}
	go receive(connection, r.Body)
	return deliver(w, connection)
}

// dialOwn connects to a port of this machine, wherever it listens: most servers do on 127.0.0.1 or on every address, some on
// ::1 or on one address only.
func dialOwn(ctx context.Context, port string) (*net.TCPConn, error) {
	refused := error(unix.ECONNREFUSED)
	for _, host := range append([]string{"127.0.0.1", "::1"}, ownAddresses()...) {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
		if err == nil {
			return connection.(*net.TCPConn), nil
		}
		if !errors.Is(err, unix.ECONNREFUSED) && host == "127.0.0.1" {
			refused = err
		}
	}
	return nil, refused
}

// ownAddresses are those of the machine's network devices, but the loopback's.
func ownAddresses() (hosts []string) {
	addresses, _ := net.InterfaceAddrs()
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.IsGlobalUnicast() {
			hosts = append(hosts, network.IP.String())
		}
	}
	return hosts
}

// receive passes a request's body on to a connection, and its end as that of the connection's one direction. When the host
// goes away the connection is reset. When the program takes no more, it may have said why, which is still to be read.
func receive(connection *net.TCPConn, body io.Reader) {
	to := sink{Writer: connection}
	_, err := io.CopyBuffer(&to, body, make([]byte, copySize))
	switch {
	case err == nil:
		connection.CloseWrite()
	case !to.full:
		abort(connection)
	}
}

// sink remembers that a write to it failed.
type sink struct {
	io.Writer
	full bool
}

func (s *sink) Write(data []byte) (int, error) {
	n, err := s.Writer.Write(data)
	s.full = s.full || err != nil
	return n, err
}

// deliver passes what a connection brings on as the response, until its end.
func deliver(w http.ResponseWriter, connection io.Reader) error {
	control := http.NewResponseController(w)
	buffer := make([]byte, copySize)
	for {
		n, err := connection.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
			if err := control.Flush(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
