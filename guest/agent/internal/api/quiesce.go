package api

import (
	"net/http"

	"golang.org/x/sys/unix"

	"atoll/guest/agent/internal/channel"
)

// quiesce writes out what the file systems hold back and answers. The host hangs up then, which ends the epoch, and saves the
// machine; what the agent still writes goes nowhere. Commands of the epoch go on without their streams: they belong to what the
// snapshot keeps.
func quiesce(w http.ResponseWriter, r *http.Request) error {
	unix.Sync()
	w.WriteHeader(http.StatusNoContent)
	channel.Quiesce(r.Context())
	return nil
}
