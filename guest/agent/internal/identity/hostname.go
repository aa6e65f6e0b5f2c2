package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	hostnameFile = "/etc/hostname"
	hostsFile    = "/etc/hosts"

	// ownAddress is the loopback address under which a host finds its own name.
	ownAddress = "127.0.1.1"

	// defaultHosts stands in where the root disk has no hosts file.
	defaultHosts = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"

	maxHostname = 64
)

// CheckHostname tells whether the name is one: letters, digits, hyphens and dots, no label beginning or ending in a hyphen.
func CheckHostname(name string) error {
	invalid := fmt.Errorf("%q is not a host name", name)
	if len(name) > maxHostname {
		return invalid
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return invalid
		}
		if strings.Trim(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" {
			return invalid
		}
	}
	return nil
}

// SetHostname names the guest in its kernel.
func SetHostname(name string) error {
	if err := unix.Sethostname([]byte(name)); err != nil {
		return fmt.Errorf("sethostname: %w", err)
	}
	return nil
}

// WriteHostname names the guest in /etc/hostname and /etc/hosts.
func WriteHostname(name string) error {
	if err := writeFile(hostnameFile, name+"\n", 0o644); err != nil {
		return err
	}
	hosts, err := os.ReadFile(hostsFile)
	if errors.Is(err, fs.ErrNotExist) {
		hosts, err = []byte(defaultHosts), nil
	}
	if err != nil {
		return err
	}
	return writeFile(hostsFile, withOwnName(string(hosts), name), 0o644)
}

// withOwnName is the hosts file with one line for the guest's own name, in the place of the first there was.
func withOwnName(hosts, name string) string {
	line := ownAddress + "\t" + name + "\n"
	var out strings.Builder
	placed := false
	for old := range strings.Lines(hosts) {
		fields := strings.Fields(old)
		if len(fields) == 0 || fields[0] != ownAddress {
			out.WriteString(strings.TrimSuffix(old, "\n") + "\n")
			continue
		}
		if !placed {
			out.WriteString(line)
			placed = true
		}
	}
	if !placed {
		out.WriteString(line)
	}
	return out.String()
}
