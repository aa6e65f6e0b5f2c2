package identity

import (
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ParseClock reads nanoseconds since the epoch from decimal digits. They come as text, since they exceed what a JSON number
// keeps exactly.
func ParseClock(text string) (time.Time, error) {
	nanoseconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || nanoseconds < 0 {
		return time.Time{}, fmt.Errorf("%q is not a number of nanoseconds since 1970", text)
	}
	return time.Unix(0, nanoseconds), nil
}

// SetClock sets the wall clock, which stands still while a machine is suspended.
func SetClock(now time.Time) error {
	at := unix.NsecToTimespec(now.UnixNano())
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &at); err != nil {
		return fmt.Errorf("set clock: %w", err)
	}
	return nil
}
