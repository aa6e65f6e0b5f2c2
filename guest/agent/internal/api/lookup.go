package api

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// refusal is a command that cannot be started, as a shell would tell it.
type refusal struct {
	code   int
	reason string
}

const (
	codeNotFound      = 127
	codeNotExecutable = 126
	codeTimedOut      = 124
)

var notFound = refusal{codeNotFound, "command not found"}

// lookUp finds the program of a command. One with a slash is a path, taken from the working directory; another is looked up in
// the search path, where a file that is not executable only counts if there is no other.
func lookUp(command, searchPath, directory string) (string, *refusal) {
	if command == "" {
		return "", &notFound
	}
	if strings.Contains(command, "/") {
		return command, runnable(inDirectory(directory, command))
	}
	failure := &notFound
	for place := range strings.SplitSeq(searchPath, ":") {
		// An empty element stands for the working directory.
		program := inDirectory(directory, place) + "/" + command
		problem := runnable(program)
		if problem == nil {
			return program, nil
		}
		if problem.code == codeNotExecutable {
			failure = problem
		}
	}
	return "", failure
}

// runnable tells what keeps a file from being run by anyone; whether this user may is for exec to say.
func runnable(program string) *refusal {
	var stat unix.Stat_t
	switch err := unix.Stat(program, &stat); {
	case err == unix.ENOENT || err == unix.ENOTDIR:
		return &notFound
	case err != nil:
		return &refusal{codeNotExecutable, err.Error()}
	case stat.Mode&unix.S_IFMT == unix.S_IFDIR:
		return &refusal{codeNotExecutable, unix.EISDIR.Error()}
	case stat.Mode&0o111 == 0:
		return &refusal{codeNotExecutable, unix.EACCES.Error()}
	}
	return nil
}

// refusalOf is the refusal for an error of exec itself.
func refusalOf(err error) refusal {
	if err == unix.ENOENT {
		// The file is there, as runnable has seen: what is missing is the interpreter that its first line or header names.
		return refusal{codeNotFound, "its interpreter was not found"}
	}
	return refusal{codeNotExecutable, err.Error()}
}

func inDirectory(directory, name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return path.Join(directory, name)
}
