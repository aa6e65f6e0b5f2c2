// Package api is what the host can ask of the guest: HTTP/2 routes, one file for each kind.
package api

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"atoll/guest/agent/internal/channel"
	"atoll/guest/agent/internal/process"
)

const (
	maxStreams = 4096

	// streamWindow is how many bytes of one request may wait for their reader.
	streamWindow = 256 << 10

	// connectionWindow is the same for all requests together. 512 uploads that nobody reads, such as the input of stopped
	// commands, leave room for the others.
	connectionWindow = 512 * streamWindow

	maxFrame = 1 << 20
)

// Server serves the routes of one guest.
type Server struct {
	reaper      *process.Reaper
	rooted      <-chan struct{}
	environment environment
	terminals   terminals
	tunnels     tunnels
}

// NewServer makes a server that starts commands by the reaper, and looks up no path before rooted is closed: on the way to the root disk
// none means anything.
func NewServer(reaper *process.Reaper, rooted <-chan struct{}) *Server {
	return &Server{reaper: reaper, rooted: rooted}
}

// routes is every message the agent understands, by method and path.
func (s *Server) routes() map[string]handler {
	return map[string]handler{
		"GET /health":         health,
		"POST /configure":     action(s.configure),
		"POST /exec":          s.exec,
		"POST /terminal":      s.terminal,
		"POST /resize":        action(s.resize),
		"POST /signal":        action(s.signal),
		"POST /tunnel":        s.tunnel,
		"POST /tunnel/accept": s.acceptTunnelled,
		// CONNECT has no path.
		"CONNECT ":             connect,
		"POST /files/read":     readFile,
		"POST /files/write":    writeFile,
		"POST /files/chmod":    action(chmod),
		"POST /files/chown":    action(chown),
		"POST /files/mkdir":    action(mkdir),
		"POST /files/rename":   action(rename),
		"POST /files/copy":     action(copyFile),
		"POST /files/symlink":  action(symlink),
		"POST /files/readlink": query(readlink),
		"POST /files/truncate": action(truncate),
		"POST /files/list-dir": listDirectory,
		"POST /files/pack":     packFiles,
		"POST /files/unpack":   unpackFiles,
		"POST /drives/mount":   action(mountDrives),
		"POST /drives/freeze":  freezeDrives,
		"POST /quiesce":        quiesce,
		"POST /shutdown":       shutdown,
	}
}

// Serve answers on every connection of the listener, until that fails.
func (s *Server) Serve(listener net.Listener) error {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := http.Server{
		Handler:     s.onceRooted(dispatch(s.routes())),
		Protocols:   protocols,
		ConnContext: channel.WithEpoch,
		ErrorLog:    log.New(os.Stderr, "atoll-agent: ", 0),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreams,
			MaxReadFrameSize:              maxFrame,
			MaxReceiveBufferPerConnection: connectionWindow,
			MaxReceiveBufferPerStream:     streamWindow,
		},
	}
	return server.Serve(listener)
}

// onceRooted has requests wait for what they are about.
func (s *Server) onceRooted(routes http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-s.rooted
		routes.ServeHTTP(w, r)
	})
}

// dispatch finds the route by its exact name. A route that the agent does not know is one of a later generation: ENOSYS.
func dispatch(routes map[string]handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Method + " " + r.URL.Path
		if route, ok := routes[name]; ok {
			route.ServeHTTP(w, r)
			return
		}
		writeJSON(w, http.StatusNotFound, failure{Errno: "ENOSYS", Message: fmt.Sprintf("no route %s", name)})
	})
}
