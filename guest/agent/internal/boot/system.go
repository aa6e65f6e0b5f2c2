package boot

import (
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// File descriptors a command may have open: what it starts with, and what it may raise that to.
const (
	softFiles = 65536
	hardFiles = 1048576
)

// firstRealTimeSignal is the first of those that end no process that runs Go.
const firstRealTimeSignal = 32

// CatchSignals keeps a signal that someone in the guest sends from ending PID 1. The signals are caught and dropped, not
// ignored: commands would inherit an ignored signal, whereas exec resets a caught one. A fault of the agent's own still ends it.
func CatchSignals() {
	var caught []os.Signal
	for number := unix.Signal(1); number < firstRealTimeSignal; number++ {
		switch number {
		case unix.SIGKILL, unix.SIGSTOP:
			// Not even the guest's root reaches PID 1 by these.
		case unix.SIGCHLD, unix.SIGURG:
			// Frequent (the Go runtime sends itself the latter), and harmless.
		default:
			caught = append(caught, number)
		}
	}
	signal.Notify(make(chan os.Signal, 1), caught...)
}

// Limits sets the resource limits that commands inherit.
func Limits() error {
	// Setting it by hand also stops the Go runtime from restoring the kernel's lower limit in each child.
	files := unix.Rlimit{Cur: softFiles, Max: hardFiles}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("setrlimit nofile: %w", err)
	}
	return nil
}

// Loopback brings lo up; the kernel then gives it 127.0.0.1 and ::1.
func Loopback() error {
	if err := raise("lo"); err != nil {
		return fmt.Errorf("lo up: %w", err)
	}
	return nil
}

func raise(name string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, request); err != nil {
		return err
	}
	request.SetUint16(request.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}
