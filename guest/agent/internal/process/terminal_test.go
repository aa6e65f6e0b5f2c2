package process

import (
	"errors"
	"os"
	"testing"
	"time"
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
	read := make(chan error)
	go func() {
		_, err := terminal.Input.Read(make([]byte, 1))
		read <- err
	}()
	// The reader waits by now; where it did not, the deadline reaches it as well.
	time.Sleep(10 * time.Millisecond)
	terminal.CommandEnded()
	select {
	case err := <-read:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("no deadline reaches the reader")
	}
}
