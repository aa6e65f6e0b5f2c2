package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// reaper is the one of the test binary, which takes in orphans as PID 1 does.
var reaper = sync.OnceValue(func() *Reaper {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	return StartReaper()
})

func shell(script string) Command {
	return Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/"}
}

// run runs a script to its end and returns what it printed.
func run(t *testing.T, script, stdin string) (Exit, string, string) {
	t.Helper()
	pipes, err := NewPipes(false)
	if err != nil {
		t.Fatal(err)
	}
	process, err := pipes.Start(reaper(), shell(script))
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	var pumps sync.WaitGroup
	pumps.Add(2)
	go func() { defer pumps.Done(); pipes.Stdout.Pump(0, collect(&stdout)) }()
	go func() { defer pumps.Done(); pipes.Stderr.Pump(0, collect(&stderr)) }()
	pipes.Stdin.WriteString(stdin)
	pipes.Stdin.Close()
	<-process.Done()
	pipes.CommandEnded()
	pumps.Wait()
	return process.Exit(), stdout.String(), stderr.String()
}

func collect(into *bytes.Buffer) func([]byte) error {
	return func(chunk []byte) error { into.Write(chunk); return nil }
}

func TestStreams(t *testing.T) {
	exit, stdout, stderr := run(t, "cat; echo to stderr >&2; exit 3", "input")
	if exit != (Exit{Code: 3}) || stdout != "input" || stderr != "to stderr\n" {
		t.Errorf("%+v %q %q", exit, stdout, stderr)
	}
}

func TestMergedOutputKeepsItsOrder(t *testing.T) {
	pipes, err := NewPipes(true)
	if err != nil {
		t.Fatal(err)
	}
	script := "i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done"
	process, err := pipes.Start(reaper(), shell(script))
	if err != nil {
		t.Fatal(err)
	}
	<-process.Done()
	pipes.CommandEnded()
	var got, want bytes.Buffer
	pipes.Stdout.Pump(0, collect(&got))
	for i := range 200 {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
	}
	if got.String() != want.String() {
		t.Errorf("%q", got.String())
	}
}

func TestSignalled(t *testing.T) {
	for signal, want := range map[string]Exit{"KILL": {137, "KILL"}, "TERM": {143, "TERM"}} {
		if exit, _, _ := run(t, "kill -"+signal+" $$; sleep 5", ""); exit != want {
			t.Errorf("%s: %+v", signal, exit)
		}
	}
	if name := signalName(35); name != "35" {
		t.Errorf("signal 35 is called %q", name)
	}
}

func TestLargeOutput(t *testing.T) {
	_, stdout, stderr := run(t, "head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2", "")
	if len(stdout) != 3000000 || len(stderr) != 2000000 {
		t.Errorf("%d and %d bytes", len(stdout), len(stderr))
	}
}

func TestChildHoldingThePipeDoesNotHoldUpTheEnd(t *testing.T) {
	// The child fills the pipe several times over after the command's end, then proves that it lived through it.
	mark := t.TempDir() + "/mark"
	script := fmt.Sprintf("printf before; (sleep 0.2; head -c 1000000 /dev/zero && echo ok >%s) & exit 0", mark)
	begun := time.Now()
	exit, stdout, _ := run(t, script, "")
	if took := time.Since(begun); took > 150*time.Millisecond {
		t.Errorf("took %v", took)
	}
	if exit.Code != 0 || stdout != "before" {
		t.Errorf("%+v %q", exit, stdout)
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(mark); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the child did not live on")
		}
	}
}

func TestEverythingWrittenBeforeTheEndArrives(t *testing.T) {
	// A slow receiver: at the command's end the pipe is full, and a child keeps it open.
	pipes, _ := NewPipes(false)
	process, err := pipes.Start(reaper(), shell("sleep 1 & head -c 65536 /dev/zero"))
	if err != nil {
		t.Fatal(err)
	}
	<-process.Done()
	pipes.CommandEnded()
	received := 0
	pipes.Stdout.Pump(5, func(chunk []byte) error { received += len(chunk) - 5; return nil })
	if received != 65536 {
		t.Errorf("%d bytes", received)
	}
	go pipes.Stderr.discard()
}

func TestReceiverFails(t *testing.T) {
	pipes, _ := NewPipes(false)
	process, err := pipes.Start(reaper(), shell("head -c 1000000 /dev/zero"))
	if err != nil {
		t.Fatal(err)
	}
	go pipes.Stderr.discard()
	pipes.Stdout.Pump(0, func([]byte) error { return os.ErrClosed })
	<-process.Done()
	pipes.CommandEnded()
	if exit := process.Exit(); exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
}

func TestSignalGroup(t *testing.T) {
	pipes, _ := NewPipes(false)
	process, err := pipes.Start(reaper(), shell("sleep 60 & sleep 60"))
	if err != nil {
		t.Fatal(err)
	}
	if group, _ := unix.Getpgid(process.PID()); group != process.PID() {
		t.Errorf("group %d", group)
	}
	if session, _ := unix.Getsid(process.PID()); session != process.PID() {
		t.Errorf("session %d", session)
	}
	if err := process.SignalGroup(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit := process.Exit(); exit != (Exit{137, "KILL"}) {
		t.Errorf("%+v", exit)
	}
	if err := process.SignalGroup(syscall.SIGKILL); err != syscall.ESRCH {
		t.Errorf("after the end: %v", err)
	}
	// With the whole group gone, the pipe ends by itself.
	pipes.Stdout.Pump(0, func([]byte) error { return nil })
}

func TestStartFails(t *testing.T) {
	before := openFiles(t)
	for path, want := range map[string]error{"/no/such": syscall.ENOENT, "/etc/passwd": syscall.EACCES, "/etc": syscall.EACCES} {
		pipes, _ := NewPipes(false)
		if _, err := pipes.Start(reaper(), Command{Path: path, Args: []string{path}, Dir: "/"}); err != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestManyAtOnceAndOrphans(t *testing.T) {
	var commands sync.WaitGroup
	for i := range 100 {
		commands.Add(1)
		go func() {
			defer commands.Done()
			code := strconv.Itoa(i)
			exit, stdout, _ := run(t, "(sleep 0.01 &) ; echo "+code+"; exit "+code, "")
			if exit.Code != i || strings.TrimSpace(stdout) != code {
				t.Errorf("%d: %+v %q", i, exit, stdout)
			}
		}()
	}
	commands.Wait()
	for deadline := time.Now().Add(5 * time.Second); children() > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d children left", children())
		}
	}
}

func children() int {
	count := 0
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		list, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		count += len(strings.Fields(string(list)))
	}
	return count
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}
