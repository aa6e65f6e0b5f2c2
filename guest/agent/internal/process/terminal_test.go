package process

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTerminalIsReadWithoutWaitingInTheKernel(t *testing.T) {
	terminal, err := NewTerminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if err := terminal.Resize(100, 30); err != nil {
		t.Fatal(err)
	}
	terminal.foreground()
	flags := 0
	if err := terminal.control(func(fd int) (err error) {
		flags, err = unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		return err
	}); err != nil || flags&unix.O_NONBLOCK == 0 {
		t.Errorf("flags %o, %v", flags, err)
	}
	size, err := unix.IoctlGetWinsize(int(terminal.theirs.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col != 100 || size.Row != 30 {
		t.Errorf("%+v %v", size, err)
	}
}

func TestHangUpEndsTheReaderWhateverHoldsTheTerminal(t *testing.T) {
	terminal, err := NewTerminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	// A job of a group of its own, which ignores the hang-up and lives on.
	script := `set -m; (trap "" HUP; echo "job $$"; while :; do sleep 0.1; done) & read line`
	shell, err := terminal.Start(reaper(), shell(script))
	if err != nil {
		t.Fatal(err)
	}
	ready, shown := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(shown)
		seen := ""
		terminal.Pump(0, func(chunk []byte) error {
			if had := strings.Contains(seen, "job "); !had && strings.Contains(seen+string(chunk), "job ") {
				close(ready)
			}
			seen += string(chunk)
			return nil
		}, shell.Done())
	}()
	select {
	case <-ready:
	case <-time.After(10 * time.Second):
		t.Fatal("the job did not start")
	}
	HangUp(terminal, shell)
	select {
	case <-shown:
	case <-time.After(10 * time.Second):
		t.Error("the reader waits on")
	}
	jobs := membersOf(shell.PID())
	if len(jobs) == 0 {
		t.Error("the job did not live on")
	}
	signalAll(jobs, syscall.SIGKILL)
	if _, err := terminal.Input.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the terminal is still there: %v", err)
	}
}
