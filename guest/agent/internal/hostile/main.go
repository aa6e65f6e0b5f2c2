// Hostile is a guest agent that lies, for the tests of the daemon: e2e/hostile-agent. As /init of a guest it looks at the label of
// the root disk: "h-<name>" chooses what it does instead of opening an epoch, "h-ok" has it open one and lie in its answers, and any
// other label has it become the true agent, /real, so that honest guests boot from the same initramfs.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// Where ext4 keeps its label, and how long it is.
	labelAt   = 1024 + 0x78
	labelSize = 16

	deviceDir = "/newroot"
	diskWait  = 10 * time.Second
)

func main() {
	// Its end is that of the machine: the kernel panics and reboots.
	must(syscall.Mount("devtmpfs", deviceDir, "devtmpfs", 0, ""))
	label := diskLabel(filepath.Join(deviceDir, "vda"))
	must(syscall.Unmount(deviceDir, 0))
	name, hostile := strings.CutPrefix(label, "h-")
	if !hostile {
		must(syscall.Exec("/real", []string{"/init"}, os.Environ()))
	}
	must(syscall.Mount("devtmpfs", "/dev", "devtmpfs", 0, ""))
	must(syscall.Mount("sysfs", "/sys", "sysfs", 0, ""))
	if opening, ok := openings[name]; ok {
		opening(openPort())
	} else {
		serve()
	}
	select {}
}

func diskLabel(path string) string {
	for end := time.Now().Add(diskWait); ; time.Sleep(time.Millisecond) {
		label := make([]byte, labelSize)
		disk, err := os.Open(path)
		if err == nil {
			_, err = disk.ReadAt(label, labelAt)
			disk.Close()
		}
		if err == nil {
			return strings.TrimRight(string(label), "\x00")
		}
		if time.Now().After(end) {
			return ""
		}
	}
}

// openPort opens the port to the host as it is.
func openPort() *os.File {
	for {
		found, _ := filepath.Glob("/dev/vport*")
		if len(found) > 0 {
			port, err := os.OpenFile(found[0], os.O_RDWR, 0)
			must(err)
			return port
		}
		time.Sleep(time.Millisecond)
	}
}

func must(err error) {
	if err != nil {
		fmt.Println("hostile:", err)
		os.Exit(1)
	}
}
