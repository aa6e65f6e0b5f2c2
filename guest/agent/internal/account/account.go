// Package account resolves users as the guest's own /etc/passwd and /etc/group define them, without the C library.
package account

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The files that Resolve reads.
const (
	PasswdFile = "/etc/passwd"
	GroupFile  = "/etc/group"
)

// Account is whom a command runs as.
type Account struct {
	// Name is empty for a number that no account has.
	Name     string
	UID, GID uint32
	// Groups are all groups of the account, its primary one included.
	Groups      []uint32
	Home, Shell string
}

// Credential is what a child needs to become the account; nil for plain root, which the agent is already.
func (a Account) Credential() *syscall.Credential {
	if a.UID == 0 && a.GID == 0 && !slices.ContainsFunc(a.Groups, func(gid uint32) bool { return gid != 0 }) {
		return nil
	}
	return &syscall.Credential{Uid: a.UID, Gid: a.GID, Groups: a.Groups}
}

// Resolve looks a user up: a name or number, with ":group" (name or number) if wanted; empty means root. A number need not
// exist. A group that is named stands alone, without the user's other groups.
func Resolve(user string) (Account, error) {
	// A root disk without these files has only root.
	return resolve(user, content(PasswdFile), content(GroupFile))
}

// content reads a file, empty if there is none. os.ReadFile would do, with three times the system calls, for each command.
func content(path string) string {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var text []byte
	for block := make([]byte, 4096); ; {
		n, err := unix.Read(fd, block)
		if err != nil || n == 0 {
			return string(text)
		}
		text = append(text, block[:n]...)
	}
}

func resolve(user, passwd, group string) (Account, error) {
	if user == "" {
		user = "0"
	}
	name, groupName, withGroup := strings.Cut(user, ":")
	found, ok := findUser(passwd, name)
	if !ok {
		return Account{}, fmt.Errorf("user %q: no such user in %s", name, PasswdFile)
	}
	if !withGroup {
		found.Groups = groupsOf(group, found)
		return found, nil
	}
	gid, ok := findGroup(group, groupName)
	if !ok {
		return Account{}, fmt.Errorf("user %q: no such group %q in %s", user, groupName, GroupFile)
	}
	found.GID, found.Groups = gid, []uint32{gid}
	return found, nil
}

// findUser prefers a name over a number, as an account may be called by digits. Lines that cannot be the one are not parsed: it is done for
// each command, and under emulation to parse all of them takes a tenth of what a short one takes.
func findUser(passwd, wanted string) (Account, bool) {
	number, isNumber := id(wanted)
	called, numbered := wanted+":", ":"+strconv.FormatUint(uint64(number), 10)+":"
	byNumber, found := Account{}, false
	for line := range strings.Lines(passwd) {
		if !strings.HasPrefix(line, called) && !(isNumber && strings.Contains(line, numbered)) {
			continue
		}
		account, ok := parseUser(line)
		if ok && account.Name == wanted {
			return account, true
		}
		if ok && isNumber && !found && account.UID == number {
			byNumber, found = account, true
		}
	}
	switch {
	case found:
		return byNumber, true
	case wanted == "0" || wanted == "root" && passwd == "":
		return Account{Name: "root", Home: "/root", Shell: "/bin/sh"}, true
	}
	return Account{UID: number, Home: "/", Shell: "/bin/sh"}, isNumber
}

// parseUser reads a line name:password:uid:gid:comment:home:shell.
func parseUser(line string) (Account, bool) {
	fields := strings.Split(strings.TrimRight(line, "\r\n"), ":")
	if len(fields) < 7 || fields[0] == "" {
		return Account{}, false
	}
	uid, uidOK := id(fields[2])
	gid, gidOK := id(fields[3])
	account := Account{Name: fields[0], UID: uid, GID: gid, Home: fields[5], Shell: fields[6]}
	if account.Home == "" {
		account.Home = "/"
	}
	if account.Shell == "" {
		account.Shell = "/bin/sh"
	}
	return account, uidOK && gidOK
}

func findGroup(group, wanted string) (uint32, bool) {
	for line := range strings.Lines(group) {
		if name, gid, _, ok := parseGroup(line); ok && name == wanted {
			return gid, true
		}
	}
	return id(wanted)
}

func groupsOf(group string, account Account) []uint32 {
	gids := []uint32{account.GID}
	for line := range strings.Lines(group) {
		if account.Name == "" || !strings.Contains(line, account.Name) {
			continue
		}
		_, gid, members, ok := parseGroup(line)
		if ok && slices.Contains(members, account.Name) && !slices.Contains(gids, gid) {
			gids = append(gids, gid)
		}
	}
	return gids
}

// parseGroup reads a line name:password:gid:member,member.
func parseGroup(line string) (name string, gid uint32, members []string, ok bool) {
	fields := strings.Split(strings.TrimRight(line, "\r\n"), ":")
	if len(fields) < 4 || fields[0] == "" {
		return "", 0, nil, false
	}
	gid, ok = id(fields[2])
	return fields[0], gid, strings.Split(fields[3], ","), ok
}

// id parses a user or group number. The highest value means "keep" to the kernel, so it is none.
func id(text string) (uint32, bool) {
	number, err := strconv.ParseUint(text, 10, 32)
	return uint32(number), err == nil && number != 1<<32-1
}
