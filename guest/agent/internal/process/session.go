package process

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// member is a process of a session.
type member struct{ pid, group int }

// membersOf lists the living processes of a session. The session's number cannot be another's while one of them lives.
func membersOf(session int) []member {
	directory, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer directory.Close()
	names, _ := directory.Readdirnames(-1)
	var found []member
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if group, of, alive := sessionOf(pid); alive && of == session {
			found = append(found, member{pid, group})
		}
	}
	return found
}

// sessionOf reads the process group and the session of a process; one that waits to be reaped does not count.
func sessionOf(pid int) (group, session int, alive bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// The name, in brackets, may hold anything: state, parent, group and session come behind the last bracket.
	end := bytes.LastIndexByte(stat, ')')
	if err != nil || end < 0 {
		return 0, 0, false
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 4 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return 0, 0, false
	}
	group, _ = strconv.Atoi(string(fields[2]))
	session, _ = strconv.Atoi(string(fields[3]))
	return group, session, true
}

func inGroups(members []member, groups ...int) []member {
	return slices.DeleteFunc(members, func(m member) bool { return !slices.Contains(groups, m.group) })
}

func signalAll(members []member, signal unix.Signal) {
	for _, m := range members {
		unix.Kill(m.pid, signal)
	}
}
