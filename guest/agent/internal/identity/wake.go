package identity

import "time"

// Prepare looks up what Wake and SetNetwork need below /dev and /proc; from then on neither of them looks up a path. A guest may have no
// card: that is told to whoever sets its network.
func Prepare() error {
	findCard()
	_, err := randomPool()
	return err
}

// Wake gives a guest back what it lost while it was a snapshot: the time, and randomness that no other machine of that snapshot has.
// The clock comes first, as its value ages.
func Wake(now time.Time, seed []byte) error {
	if err := SetClock(now); err != nil {
		return err
	}
	return AddEntropy(seed)
}
