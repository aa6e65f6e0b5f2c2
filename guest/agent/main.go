// The agent is PID 1 of a sandbox: it mounts the root disk, reaps orphans and serves the host over a virtio port.
//
// Invariant: when the agent ends, the machine ends. An error or panic of main is printed on the console and followed by
// a reboot, which a microVM started with -no-reboot takes as power off. A crash in any other goroutine ends PID 1, upon
// which the kernel panics and, told panic=-1 reboot=t, reboots as well.
package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"

	"atoll/guest/agent/internal/api"
	"atoll/guest/agent/internal/boot"
	"atoll/guest/agent/internal/channel"
	"atoll/guest/agent/internal/identity"
	"atoll/guest/agent/internal/power"
	"atoll/guest/agent/internal/process"
)

// processors is how many threads run Go code at a time, once the guest is booted. The agent mostly passes bytes from one goroutine to the next: on one
// processor that is a call, on several it wakes another vCPU, which under emulation costs half of the channel's throughput and
// three quarters of a request's time. Blocking system calls do not count, and the guest's vCPUs are left to its commands.
const processors = 1

func main() {
	if os.Getpid() != 1 {
		os.Stderr.WriteString("atoll-agent: runs only as PID 1 of a guest\n")
		os.Exit(2)
	}
	defer power.EndOnPanic()
	power.Fatal(run())
}

// run never returns nil: a guest without its agent is of no use.
//
// The kernel's part of mounting the disk and of raising the loopback takes as long as the agent's own preparations and as being told who
// it is, so they go on side by side, on as many processors as there are. Nothing is answered before all of it is done.
func run() error {
	go boot.CatchSignals()
	if err := boot.Early(); err != nil {
		return err
	}
	disk, loopback, prepared := start(boot.MountDisk), start(boot.Loopback), start(identity.Prepare)
	rooted := make(chan struct{})
	server := api.NewServer(process.StartReaper(), rooted)
	port, err := channel.Open("agent", channel.Guest{Wake: identity.Wake, Become: server.Become})
	if err != nil {
		return err
	}
	served := start(func() error { return server.Serve(port) })
	if err := cmp.Or(<-disk, <-loopback, <-prepared, boot.Limits()); err != nil {
		return err
	}
	if err := boot.EnterRoot(); err != nil {
		return err
	}
	close(rooted)
	runtime.GOMAXPROCS(processors)
	return fmt.Errorf("serve: %w", <-served)
}

// start runs a step of the boot beside the others.
func start(step func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- step() }()
	return done
}
