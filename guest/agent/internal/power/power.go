// Package power ends the machine.
//
// Invariant: every exported function except EndOnPanic (without a panic) ends the machine, whatever the state of the
// disks and processes. Each wait on the way has a budget, and a failing reboot ends PID 1, which panics the kernel.
package power

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// syncBudget bounds each sync(2): a dead disk must not keep the machine alive.
const syncBudget = 3 * time.Second

// Fatal prints the reason as one line on the console and ends the machine.
func Fatal(reason error) {
	fmt.Fprintf(os.Stderr, "atoll-agent: fatal: %v\n", reason)
	end()
}

// EndOnPanic is deferred by main: it turns a panic into Fatal, with the stack on the console.
func EndOnPanic() {
	if cause := recover(); cause != nil {
		os.Stderr.Write(debug.Stack())
		Fatal(fmt.Errorf("panic: %v", cause))
	}
}

// end syncs and reboots. It does not return.
func end() {
	syncWithin(syncBudget)
	err := unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	fmt.Fprintf(os.Stderr, "atoll-agent: reboot: %v\n", err)
	os.Exit(1)
}

// syncWithin waits for sync(2) at most for the budget.
func syncWithin(budget time.Duration) {
	synced := make(chan struct{})
	go func() {
		unix.Sync()
		close(synced)
	}()
	select {
	case <-synced:
	case <-time.After(budget):
	}
}
