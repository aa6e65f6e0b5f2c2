package api

import (
	"net/http"
	"time"

	"golang.org/x/sys/unix"

	"atoll/guest/agent/internal/power"
)

// responseHeadStart is the time a response gets to leave before the machine begins to end.
const responseHeadStart = 10 * time.Millisecond

// shutdown acknowledges once the disks are synced, so that the host may kill a machine that then fails to end.
func shutdown(w http.ResponseWriter, _ *http.Request) error {
	unix.Sync()
	w.WriteHeader(http.StatusNoContent)
	time.AfterFunc(responseHeadStart, power.Shutdown)
	return nil
}
