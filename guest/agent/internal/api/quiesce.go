package api

import (
	"net/http"

	"golang.org/x/sys/unix"

	"atoll/guest/agent/internal/channel"
)

// quiesce writes out what the file systems hold back, answers, and ends the epoch: after the answer no byte goes to the host
// until its next HELLO. Bytes that a snapshot caught in the port's queue would be lost or arrive in another life of the guest.
// Commands of the epoch go on without their streams: they belong to what the snapshot keeps.
func quiesce(w http.ResponseWriter, r *http.Request) error {
	unix.Sync()
	w.WriteHeader(http.StatusNoContent)
	channel.Quiesce(r.Context())
	return nil
}
