package process

import (
	"cmp"
	"os"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

const (
	// hangUpGrace is what a hung-up program gets to clear up.
	hangUpGrace = 2 * time.Second
	// lastWords is how long the terminal may stay silent after the shell's end before it counts as drained: what was written
	// reaches our side a moment later, and a child that holds the terminal keeps it from ending by itself.
	lastWords = 50 * time.Millisecond
)

// Terminal is our side of a pseudo-terminal.
type Terminal struct {
	// Input is what the terminal's user types. Writing waits while the program does not read.
	Input  *os.File
	theirs *os.File
}

// NewTerminal makes a pseudo-terminal of that size, in characters.
func NewTerminal(cols, rows uint16) (*Terminal, error) {
	ours, theirs, err := pty.Open()
	if err != nil {
		return nil, err
	}
	t := &Terminal{Input: ours, theirs: theirs}
	// The library's system calls leave it one that waits in the kernel: there no deadline reaches a reader, which keeps the agent's only
	// processor until the runtime notices.
	if err := cmp.Or(t.control(func(fd int) error { return unix.SetNonblock(fd, true) }), t.Resize(cols, rows)); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// control does something with the descriptor of our side. Fd would make it one that waits in the kernel.
func (t *Terminal) control(do func(fd int) error) error {
	raw, err := t.Input.SyscallConn()
	if err != nil {
		return err
	}
	if failed := raw.Control(func(fd uintptr) { err = do(int(fd)) }); failed != nil {
		return failed
	}
	return err
}

// Start starts the command with the terminal as its controlling one. Afterwards only the command holds its side; on failure
// both are closed.
func (t *Terminal) Start(reaper *Reaper, command Command) (*Process, error) {
	command.Terminal = true
	fd := int(t.theirs.Fd())
	// Programs do not expect a terminal that does not wait.
	unix.SetNonblock(fd, false)
	process, err := reaper.Start(command, Stdio{fd, fd, fd})
	if err != nil {
		t.Close()
		return nil, err
	}
	t.theirs.Close()
	return process, nil
}

// Resize sets the size in characters, and tells the program in the foreground.
func (t *Terminal) Resize(cols, rows uint16) error {
	return t.control(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
	})
}

// Pump delivers what the terminal shows, in order, until nothing holds its other side or, after CommandEnded, it falls
// silent. Each chunk begins with headroom bytes for the receiver to fill in, and is valid during the call. A failed delivery
// ends it.
func (t *Terminal) Pump(headroom int, deliver func(chunk []byte) error, ended <-chan struct{}) {
	buffer := make([]byte, headroom+ChunkSize)
	for {
		select {
		case <-ended:
			t.Input.SetReadDeadline(time.Now().Add(lastWords))
		default:
		}
		n, err := t.Input.Read(buffer[headroom:])
		if n > 0 && deliver(buffer[:headroom+n]) != nil {
			return
		}
		if err != nil {
			return
		}
	}
}

// CommandEnded tells Pump that the command has ended.
func (t *Terminal) CommandEnded() { t.Input.SetReadDeadline(time.Now().Add(lastWords)) }

// foreground is the process group that reads from the terminal, 0 when there is none.
func (t *Terminal) foreground() (group int) {
	t.control(func(fd int) (err error) {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return group
}

// Close hangs up: the kernel signals the foreground of whatever still runs on the terminal.
func (t *Terminal) Close() {
	t.Input.Close()
	t.theirs.Close()
}

// HangUp ends a terminal's session as the loss of its line does: everything in it gets SIGHUP, the terminal is gone, and what
// of the shell's own group and of the foreground is left after a grace is killed. A job in the background that ignores the
// hang-up was meant to live on.
func HangUp(t *Terminal, shell *Process) {
	session := shell.PID()
	foreground := t.foreground()
	signalAll(membersOf(session), unix.SIGHUP)
	// A stopped job acts on the hang-up once it goes on.
	signalAll(membersOf(session), unix.SIGCONT)
	t.Close()
	for end := time.Now().Add(hangUpGrace); time.Now().Before(end); time.Sleep(hangUpGrace / 20) {
		if len(inGroups(membersOf(session), session, foreground)) == 0 {
			return
		}
	}
	signalAll(inGroups(membersOf(session), session, foreground), unix.SIGKILL)
}
