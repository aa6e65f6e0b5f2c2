package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"atoll/guest/agent/internal/channel"
	"atoll/guest/agent/internal/frame"
	"atoll/guest/agent/internal/process"
)

// Frame types of the request.
const (
	requestSpec byte = iota
	requestStdin
	requestStdinEOF
)

// Frame types of the response.
const (
	responseStarted byte = iota
	responseStdout
	responseStderr
	responseExit
)

type startedEvent struct {
	PID int `json:"pid"`
}

type exitEvent struct {
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal,omitempty"`
	TimedOut bool   `json:"timed_out"`
}

// exec runs one command. It ends with the command itself, not with the children that hold its pipes. When the time is over, or
// the host goes away from a command that is not detached, the command's process group is killed.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) error {
	requests := frame.NewReader(r.Body)
	spec, err := readSpec[execSpec](requests)
	if err != nil {
		return err
	}
	command, refused, err := s.resolve(spec)
	if err != nil {
		return err
	}
	events := newEvents(w)
	if refused != nil {
		return events.refuse(spec.Command, *refused)
	}
	pipes, err := process.NewPipes(spec.MergeOutput)
	if err != nil {
		return err
	}
	running, err := pipes.Start(s.reaper, command)
	if err != nil {
		refused, err := startFailure(command, err)
		if err != nil {
			return err
		}
		return events.refuse(spec.Command, *refused)
	}
	// A failed write means that the host is gone, which the context tells as well. Only who follows a command wants its number at once.
	events.started(running.PID(), spec.Detach)
	go feedStdin(requests, pipes.Stdin, spec.Detach)
	delivered := events.pump(pipes)
	ctx := r.Context()
	if spec.Detach {
		// It keeps this call, whose output nobody takes any more, until it ends.
		ctx = context.WithoutCancel(ctx)
	}
	timedOut := await(ctx, running, spec.timeout())
	pipes.CommandEnded()
	delivered.Wait()
	return events.exit(exitOf(running.Exit(), timedOut))
}

// await waits for the command to end, and brings that about when the host is gone or the time is over. A command whose epoch was
// quiesced goes on by itself.
func await(ctx context.Context, running *process.Process, timeout time.Duration) (timedOut bool) {
	var expired <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-running.Done():
	case <-ctx.Done():
		if !channel.Quiesced(ctx) {
			running.SignalGroup(unix.SIGKILL)
		}
	case <-expired:
		// An error means that the command was faster.
		timedOut = running.SignalGroup(unix.SIGKILL) == nil
	}
	<-running.Done()
	return timedOut
}

func exitOf(exit process.Exit, timedOut bool) exitEvent {
	if timedOut {
		exit.Code = codeTimedOut
	}
	return exitEvent{ExitCode: exit.Code, Signal: exit.Signal, TimedOut: timedOut}
}

// feedStdin passes input on until its end, or the command's. One that is detached sees no end of it when the host goes away.
func feedStdin(requests *frame.Reader, stdin *os.File, detached bool) {
	if err := copyInput(requests, stdin); err == nil || !detached {
		stdin.Close()
	}
}

// copyInput passes input on until its end. An error means that the host went away. Input for a command that has closed its end
// is read and dropped: left in the stream it would take up the connection's window.
func copyInput(requests *frame.Reader, stdin io.Writer) error {
	sink := stdin
	for {
		kind, payload, err := requests.Next()
		switch {
		case err == io.EOF || err == nil && kind == requestStdinEOF:
			return nil
		case err != nil:
			return err
		case kind != requestStdin:
			continue
		}
		if _, err := io.Copy(sink, payload); err != nil {
			sink = io.Discard
		}
	}
}

// events is the response of exec.
type events struct{ frames *frame.Writer }

func newEvents(w http.ResponseWriter) events {
	return events{frame.NewWriter(w, http.NewResponseController(w).Flush)}
}

// started leaves at once, or with what comes after it: a message of its own takes the host as long as a quarter of a short command.
func (e events) started(pid int, atOnce bool) error {
	text, err := json.Marshal(startedEvent{pid})
	if err != nil {
		return err
	}
	if atOnce {
		return e.frames.Send(responseStarted, text)
	}
	return e.frames.Put(responseStarted, text)
}

// exit is the last event: it leaves together with the end of the stream.
func (e events) exit(event exitEvent) error {
	text, err := json.Marshal(event)
	if err != nil {
		return err
	}
	return e.frames.Put(responseExit, text)
}

// refuse tells in the command's own terms that it could not be started.
func (e events) refuse(command string, refused refusal) error {
	e.frames.Put(responseStderr, []byte(command+": "+refused.reason+"\n"))
	return e.exit(exitEvent{ExitCode: refused.code})
}

// pump sends the output until the pipes are done with.
func (e events) pump(pipes *process.Pipes) *sync.WaitGroup {
	var pumps sync.WaitGroup
	start := func(output *process.Output, kind byte) {
		pumps.Add(1)
		go func() {
			defer pumps.Done()
			output.Pump(frame.HeaderSize, func(chunk []byte) error { return e.frames.SendInPlace(kind, chunk) })
		}()
	}
	start(pipes.Stdout, responseStdout)
	if pipes.Stderr != nil {
		start(pipes.Stderr, responseStderr)
	}
	return &pumps
}
