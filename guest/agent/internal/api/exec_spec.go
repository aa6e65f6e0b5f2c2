package api

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"atoll/guest/agent/internal/account"
	"atoll/guest/agent/internal/fileops"
	"atoll/guest/agent/internal/frame"
	"atoll/guest/agent/internal/process"
)

// execSpec is the payload of the first frame.
type execSpec struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Cwd     string            `json:"cwd"`
	User    string            `json:"user"`
	// TimeoutMS of 0 means none.
	TimeoutMS int64 `json:"timeout_ms"`
	// MergeOutput sends both outputs as STDOUT, in the order in which the command wrote them.
	MergeOutput bool `json:"merge_output"`
	// Detach lets the command live on when the host goes away.
	Detach bool `json:"detach"`
}

// readSpec takes the first frame of a request, and checks what it holds.
func readSpec[Spec interface{ check() error }](requests *frame.Reader) (spec Spec, err error) {
	kind, _, err := requests.Next()
	if err == io.EOF || err == nil && kind != requestSpec {
		return spec, malformed("the first frame must be SPEC")
	}
	if err != nil {
		return spec, requestError{err}
	}
	text, err := requests.Whole(maxBody)
	if err != nil {
		return spec, requestError{err}
	}
	if spec, err = parseJSON[Spec](text); err != nil {
		return spec, err
	}
	return spec, spec.check()
}

func (s execSpec) check() error {
	if s.TimeoutMS < 0 {
		return malformed("timeout_ms is not negative")
	}
	for _, text := range append([]string{s.Command, s.Cwd, s.User}, s.Args...) {
		if strings.Contains(text, "\x00") {
			return malformed("command, args, cwd and user hold no NUL")
		}
	}
	if err := checkEnvironment(s.Env); err != nil {
		return requestError{err}
	}
	return nil
}

// timeout is the time the command may take; 0 means any.
func (s execSpec) timeout() time.Duration {
	return time.Duration(min(s.TimeoutMS, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// resolve turns the specification into a command. An error is one of the request, a refusal one of the command.
func (s *Server) resolve(spec execSpec) (process.Command, *refusal, error) {
	user, err := account.Resolve(spec.User)
	if err != nil {
		return process.Command{}, nil, operationError{unix.EINVAL, err.Error()}
	}
	directory := fileops.Absolute(spec.Cwd)
	if err := requireDirectory(directory); err != nil {
		return process.Command{}, nil, err
	}
	values := s.environment.of(user, spec.Env)
	program, refused := lookUp(spec.Command, values["PATH"], directory)
	return process.Command{
		Path: program,
		Args: append([]string{spec.Command}, spec.Args...),
		Env:  pairs(values),
		Dir:  directory,
		As:   user,
	}, refused, nil
}

func requireDirectory(path string) error {
	var stat unix.Stat_t
	err := unix.Stat(path, &stat)
	if err == nil && stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = unix.ENOTDIR
	}
	if err != nil {
		return &fs.PathError{Op: "chdir", Path: path, Err: err}
	}
	return nil
}

// startFailure parts what keeps a command from starting: a directory its user may not enter or a fault of the machine (no
// memory, no more processes), which are errors of the operation, and a fault of the command.
func startFailure(command process.Command, err error) (*refusal, error) {
	if err == unix.EACCES && !command.As.MayEnter(command.Dir) {
		return nil, &fs.PathError{Op: "chdir", Path: command.Dir, Err: err}
	}
	for _, errno := range []unix.Errno{unix.ENOMEM, unix.EAGAIN, unix.EMFILE, unix.ENFILE} {
		if errors.Is(err, errno) {
			return nil, fmt.Errorf("start: %w", err)
		}
	}
	refused := refusalOf(err)
	return &refused, nil
}
