package process

import (
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"atoll/guest/agent/internal/account"
)

// Command is what to run, with everything resolved.
type Command struct {
	// Path is the program. One that is relative is taken from Dir.
	Path string
	// Args are the arguments, the program's own name first.
	Args []string
	// Env is the whole environment, as name=value.
	Env []string
	// Dir is the working directory.
	Dir string
	// As is the account to run under.
	As account.Account
	// Terminal makes standard input the controlling terminal.
	Terminal bool
}

// Stdio are the descriptors a command gets as 0, 1 and 2. The caller keeps its own copies, and closes them.
type Stdio [3]int

// Process is a started command.
type Process struct {
	pid    int
	reaper *Reaper
	done   chan struct{}
	// status is set before done is closed.
	status syscall.WaitStatus
}

// Start runs a command in a session and process group of its own. The error is the errno of whatever failed: entering the
// directory, or the exec.
func (r *Reaper) Start(command Command, stdio Stdio) (*Process, error) {
	attributes := &syscall.ProcAttr{
		Dir:   command.Dir,
		Env:   command.Env,
		Files: []uintptr{uintptr(stdio[0]), uintptr(stdio[1]), uintptr(stdio[2])},
		Sys: &syscall.SysProcAttr{
			Setsid:     true,
			Setctty:    command.Terminal,
			Credential: command.As.Credential(),
		},
	}
	return r.launch(func() (int, error) {
		return syscall.ForkExec(command.Path, command.Args, attributes)
	})
}

// PID is the process id, which is also that of its session and group.
func (p *Process) PID() int { return p.pid }

// Done is closed once the command itself has ended; its children may live on.
func (p *Process) Done() <-chan struct{} { return p.done }

// SignalGroup signals the command and what it started in its group. ESRCH: the command has ended.
func (p *Process) SignalGroup(signal syscall.Signal) error { return p.reaper.signal(p, signal) }

func (p *Process) finish(status syscall.WaitStatus) {
	p.status = status
	close(p.done)
}

// Exit is how a command ended.
type Exit struct {
	// Code is the exit code, or 128 plus the number of the signal that ended the command.
	Code int
	// Signal is that signal's name without SIG, empty for a command that exited by itself.
	Signal string
}

// Exit tells how the command ended. It waits for the end.
func (p *Process) Exit() Exit {
	<-p.done
	if !p.status.Signaled() {
		return Exit{Code: p.status.ExitStatus()}
	}
	signal := p.status.Signal()
	return Exit{Code: 128 + int(signal), Signal: signalName(signal)}
}

// signalName is a number where a signal has no name, as the real-time ones.
func signalName(signal syscall.Signal) string {
	if name := unix.SignalName(signal); name != "" {
		return strings.TrimPrefix(name, "SIG")
	}
	return strconv.Itoa(int(signal))
}
