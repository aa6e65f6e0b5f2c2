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
	Stdin          *os.File
	Stdout, Stderr *Output
	theirs         Stdio
}

// NewPipes makes the pipes. Only our ends are non-blocking; programs do not expect that of theirs.
func NewPipes() (*Pipes, error) {
	ours := [3]*os.File{}
	theirs := Stdio{-1, -1, -1}
	for i := range ours {
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
	return &Pipes{
		Stdin: ours[0], Stdout: &Output{file: ours[1]}, Stderr: &Output{file: ours[2]}, theirs: theirs,
	}, nil
}

// Start starts the command on the pipes. Afterwards only the command holds its ends; on failure all ends are closed.
func (p *Pipes) Start(reaper *Reaper, command Command) (*Process, error) {
	process, err := reaper.Start(command, p.theirs)
	if err != nil {
		closeEnds([3]*os.File{p.Stdin, p.Stdout.file, p.Stderr.file}, p.theirs)
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
	p.Stderr.CommandEnded()
}
