package identity

import "time"

// Wake gives a guest back what it lost while it was a snapshot: the time, and randomness that no other machine of that snapshot has.
// The clock comes first, as its value ages.
func Wake(now time.Time, seed []byte) error {
	if err := SetClock(now); err != nil {
		return err
	}
	return AddEntropy(seed)
}
