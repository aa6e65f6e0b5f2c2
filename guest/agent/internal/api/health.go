package api

import (
	"net/http"

	"golang.org/x/sys/unix"
)

type healthReport struct {
	Generation int    `json:"generation"`
	Version    string `json:"version"`
	Kernel     string `json:"kernel"`
	// UptimeMS is the time since the guest's boot, that it was suspended included.
	UptimeMS int64 `json:"uptime_ms"`
}

func health(w http.ResponseWriter, _ *http.Request) error {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	var uptime unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &uptime); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, healthReport{
		Generation: Generation,
		Version:    Version,
		Kernel:     unix.ByteSliceToString(name.Release[:]),
		UptimeMS:   uptime.Nano() / 1e6,
	})
	return nil
}
