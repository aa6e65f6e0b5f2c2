// Package process starts commands, follows them to their end, and reaps every orphan of the guest.
package process

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Reaper is the only waiter of the process. PID 1 must collect every child, its own commands and inherited orphans alike,
// and a second waiter would steal exits from the first.
type Reaper struct {
	// mu is held from fork to registration, and from wait to hand-over: an exit can neither precede its registration nor
	// free a pid that someone is about to signal.
	mu      sync.Mutex
	running map[int]*Process
}

// StartReaper begins to reap. There must be only one in a process.
func StartReaper() *Reaper {
	r := &Reaper{running: make(map[int]*Process)}
	// One place is enough: a signal that finds it taken means that collect is still to come. Waiting by a system call that
	// blocks would keep the agent's only processor until the runtime notices.
	exits := make(chan os.Signal, 1)
	signal.Notify(exits, syscall.SIGCHLD)
	go func() {
		for range exits {
			r.collect()
		}
	}()
	return r
}

// collect reaps everything that has ended.
func (r *Reaper) collect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if p, ours := r.running[pid]; ours {
			delete(r.running, pid)
			p.finish(status)
		}
	}
}

// launch forks under the lock and registers what it started.
func (r *Reaper) launch(fork func() (int, error)) (*Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := fork()
	if err != nil {
		return nil, err
	}
	p := &Process{pid: pid, reaper: r, done: make(chan struct{})}
	r.running[pid] = p
	return p, nil
}

// Find is the running command of a process id, nil when that is not one of ours.
func (r *Reaper) Find(pid int) *Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[pid]
}

// signal sends to the process group, unless its leader was reaped: the number may then belong to someone else.
func (r *Reaper) signal(p *Process, signal syscall.Signal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[p.pid] != p {
		return syscall.ESRCH
	}
	return syscall.Kill(-p.pid, signal)
}
