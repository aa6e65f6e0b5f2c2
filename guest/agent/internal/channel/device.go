package channel

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	portClass = "/sys/class/virtio-ports"

	// The ports are announced by messages of the device, which may arrive a little after init starts.
	portBudget = 10 * time.Second
	portPoll   = time.Millisecond
)

// device is the port as the kernel shows it. One Read returns bytes of one message of the host, at most messageSize,
// and the whole of it when the buffer has that size. Read answers io.EOF at once for as long as the host is away.
type device interface {
	io.ReadWriter
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// messageSize is the size of the driver's receive buffers: a page.
const messageSize = 4096

// openDevice waits for the virtio-serial port of this name and opens it. A port can be open only once at a time.
func openDevice(name string) (*os.File, error) {
	for deadline := time.Now().Add(portBudget); ; time.Sleep(portPoll) {
		path, found := findPort(portClass, name)
		if found {
			// Non-blocking, so that Go's poller serves it and deadlines work.
			return os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("no virtio-serial port named %q", name)
		}
	}
}

// findPort returns the device of the port of this name, going by the directory of their class in /sys.
func findPort(class, name string) (string, bool) {
	ports, err := os.ReadDir(class)
	if err != nil {
		return "", false
	}
	for _, port := range ports {
		content, err := os.ReadFile(filepath.Join(class, port.Name(), "name"))
		if err == nil && strings.TrimSpace(string(content)) == name {
			return "/dev/" + port.Name(), true
		}
	}
	return "", false
}
