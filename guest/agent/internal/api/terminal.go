package api

import (
	"context"
	"net/http"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"atoll/guest/agent/internal/account"
	"atoll/guest/agent/internal/frame"
	"atoll/guest/agent/internal/process"
)

// defaultTerm is a description that every terminal emulator of today fits, and every root disk has.
const defaultTerm = "xterm-256color"

// terminalSpec is the payload of the first frame.
type terminalSpec struct {
	User string            `json:"user"`
	Env  map[string]string `json:"env"`
	Cols uint16            `json:"cols"`
	Rows uint16            `json:"rows"`
}

func (s terminalSpec) check() error {
	if s.Cols == 0 || s.Rows == 0 {
		return malformed("cols and rows are positive")
	}
	return execSpec{User: s.User, Env: s.Env}.check()
}

// terminals are those that can be resized, by their shells.
type terminals struct {
	mu   sync.Mutex
	open map[*process.Process]*process.Terminal
}

func (t *terminals) add(shell *process.Process, terminal *process.Terminal) (remove func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = make(map[*process.Process]*process.Terminal)
	}
	t.open[shell] = terminal
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.open, shell)
	}
}

func (t *terminals) of(shell *process.Process) *process.Terminal {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[shell]
}

// terminal runs a user's login shell on a terminal. When the host goes away, everything on the terminal is hung up.
func (s *Server) terminal(w http.ResponseWriter, r *http.Request) error {
	requests := frame.NewReader(r.Body)
	spec, err := readSpec[terminalSpec](requests)
	if err != nil {
		return err
	}
	command, refused, err := s.loginShell(spec)
	if err != nil {
		return err
	}
	events := newEvents(w)
	if refused != nil {
		return events.refuse(command.Path, *refused)
	}
	terminal, err := process.NewTerminal(spec.Cols, spec.Rows)
	if err != nil {
		return err
	}
	shell, err := terminal.Start(s.reaper, command)
	if err != nil {
		refused, err := startFailure(command, err)
		if err != nil {
			return err
		}
		return events.refuse(command.Path, *refused)
	}
	defer s.terminals.add(shell, terminal)()
	events.started(shell.PID(), true)
	events.converse(r.Context(), requests, terminal, shell)
	return events.exit(exitOf(shell.Exit(), false))
}

// converse passes bytes both ways until the shell has ended or the host is gone, and hangs up.
func (e events) converse(ctx context.Context, requests *frame.Reader, terminal *process.Terminal, shell *process.Process) {
	go copyInput(requests, terminal.Input)
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		deliver := func(chunk []byte) error { return e.frames.SendInPlace(responseStdout, chunk) }
		terminal.Pump(frame.HeaderSize, deliver, shell.Done())
	}()
	select {
	case <-shell.Done():
		terminal.CommandEnded()
		<-shown
		terminal.Close()
	case <-ctx.Done():
		process.HangUp(terminal, shell)
		<-shown
	}
}

// loginShell is the user's own shell, told by its name that it is the first of a session.
func (s *Server) loginShell(spec terminalSpec) (process.Command, *refusal, error) {
	user, err := account.Resolve(spec.User)
	if err != nil {
		return process.Command{}, nil, operationError{unix.EINVAL, err.Error()}
	}
	environment := map[string]string{"TERM": defaultTerm}
	for name, value := range spec.Env {
		environment[name] = value
	}
	home := user.Home
	if requireDirectory(home) != nil || !user.MayEnter(home) {
		home = "/"
	}
	command, refused, err := s.resolve(execSpec{Command: user.Shell, Env: environment, Cwd: home, User: spec.User})
	if len(command.Args) > 0 {
		command.Args[0] = "-" + path.Base(strings.TrimSpace(user.Shell))
	}
	return command, refused, err
}

// resizeRequest names a terminal by its shell.
type resizeRequest struct {
	PID  int    `json:"pid"`
	Cols uint16 `json:"cols"`
	Rows uint16 `json:"rows"`
}

// resize has a route of its own, since input that nobody reads would hold it up.
func (s *Server) resize(_ context.Context, request resizeRequest) error {
	if request.Cols == 0 || request.Rows == 0 {
		return malformed("cols and rows are positive")
	}
	terminal := s.terminals.of(s.reaper.Find(request.PID))
	if terminal == nil {
		return unix.ESRCH
	}
	return terminal.Resize(request.Cols, request.Rows)
}
