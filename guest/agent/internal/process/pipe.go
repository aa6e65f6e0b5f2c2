package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is what each pipe holds, in bytes: four times the default, since each time that one runs full or empty costs a
// switch between two processes, which under emulation takes longer than filling it.
const pipeSize = 256 << 10

// Pipes are the three standard streams of a command: ours to use with Go's poller, theirs to hand over.
type Pipes struct {
	Stdin  *os.File
	Stdout *Output
	// Stderr is nil where Stdout carries both, in the order in which the command wrote them.
	Stderr *Output
	theirs Stdio
}

// NewPipes makes the pipes, or, merged, two of them. Only our ends are non-blocking; programs do not expect that of theirs.
func NewPipes(merged bool) (*Pipes, error) {
	ours := [3]*os.File{}
	theirs := Stdio{-1, -1, -1}
	count := len(ours)
	if merged {
		count--
	}
	for i := range count {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
			closeEnds(ours, theirs)
			return nil, os.NewSyscallError("pipe", err)
		}
		mine, given := ends[0], ends[1]
		if i == 0 {
			mine, given = ends[1], ends[0]
		}
		unix.SetNonblock(mine, true)
		// Beyond its share of pipe memory the kernel refuses; the pipe is then smaller and works as well.
		unix.FcntlInt(uintptr(mine), unix.F_SETPIPE_SZ, pipeSize)
		ours[i], theirs[i] = os.NewFile(uintptr(mine), "pipe"), given
	}
	pipes := &Pipes{Stdin: ours[0], Stdout: &Output{file: ours[1]}, theirs: theirs}
	if !merged {
		pipes.Stderr = &Output{file: ours[2]}
	}
	return pipes, nil
}

// Start starts the command on the pipes. Afterwards only the command holds its ends; on failure all ends are closed.
func (p *Pipes) Start(reaper *Reaper, command Command) (*Process, error) {
	given := p.theirs
	if p.Stderr == nil {
		given[2] = given[1]
	}
	process, err := reaper.Start(command, given)
	if err != nil {
		ours := [3]*os.File{p.Stdin, p.Stdout.file}
		if p.Stderr != nil {
			ours[2] = p.Stderr.file
		}
		closeEnds(ours, p.theirs)
		return nil, err
	}
	closeEnds([3]*os.File{}, p.theirs)
	return process, nil
}

func closeEnds(ours [3]*os.File, theirs Stdio) {
	for _, file := range ours {
		if file != nil {
			file.Close()
		}
	}
	for _, fd := range theirs {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// CommandEnded closes the input, and has the outputs deliver what they hold and finish.
func (p *Pipes) CommandEnded() {
	p.Stdin.Close()
	p.Stdout.CommandEnded()
	if p.Stderr != nil {
		p.Stderr.CommandEnded()
	}
}
