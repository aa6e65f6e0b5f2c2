package power

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// termGrace is how long processes may go on after SIGTERM. With two syncs of syncBudget it must stay below the time the
// host gives a machine to end by itself.
const termGrace = 500 * time.Millisecond

// pollEvery is how often Shutdown looks whether the last process is gone.
const pollEvery = 5 * time.Millisecond

// Shutdown ends all processes, SIGTERM first, leaves the disks clean and ends the machine. It does not return.
func Shutdown() {
	// The watchdog covers what has no budget of its own: a remount of a dead disk.
	time.AfterFunc(termGrace+2*syncBudget, func() { unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART) })

	unix.Kill(-1, unix.SIGTERM)
	for deadline := time.Now().Add(termGrace); !alone() && time.Now().Before(deadline); {
		time.Sleep(pollEvery)
	}
	unix.Kill(-1, unix.SIGKILL)
	syncWithin(syncBudget)
	freezeDisks()
	end()
}

// alone tells that PID 1 has no child left. Orphans become its children, so then no process is left at all.
func alone() bool {
	return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
}

// freezeDisks remounts what is on a block device read-only, so that the next mount finds no journal to replay.
func freezeDisks() {
	mounts, err := os.Open("/proc/self/mounts")
	if err != nil {
		return
	}
	defer mounts.Close()
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || !strings.HasPrefix(fields[0], "/dev/") {
			continue
		}
		if err := unix.Mount("", fields[1], "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			fmt.Fprintf(os.Stderr, "atoll-agent: remount %s read-only: %v\n", fields[1], err)
		}
	}
}
