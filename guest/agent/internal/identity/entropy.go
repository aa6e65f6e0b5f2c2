package identity

import (
	"encoding/binary"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MaxEntropy is the most AddEntropy takes, in bytes.
const MaxEntropy = 4096

const randomDevice = "/dev/urandom"

// randomPool stays open, and away from Go's poller: a guest that wakes has less to do.
var randomPool = sync.OnceValues(func() (int, error) {
	return unix.Open(randomDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
})

// AddEntropy mixes bytes of the host's into the kernel's pool and has its generator take them up at once. Without the second
// step, clones of one snapshot go on to draw the same numbers until the generator reseeds by itself.
func AddEntropy(seed []byte) error {
	pool, err := randomPool()
	if err != nil {
		return err
	}
	info := poolInfo(seed)
	if err := control(pool, unix.RNDADDENTROPY, uintptr(unsafe.Pointer(&info[0]))); err != nil {
		return fmt.Errorf("add entropy: %w", err)
	}
	if err := control(pool, unix.RNDRESEEDCRNG, 0); err != nil {
		return fmt.Errorf("reseed: %w", err)
	}
	return nil
}

// poolInfo lays the seed out as a struct rand_pool_info: bits of entropy, length in bytes, bytes.
func poolInfo(seed []byte) []byte {
	info := binary.NativeEndian.AppendUint32(nil, uint32(8*len(seed)))
	info = binary.NativeEndian.AppendUint32(info, uint32(len(seed)))
	return append(info, seed...)
}

func control(descriptor int, request, argument uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(descriptor), request, argument); errno != 0 {
		return errno
	}
	return nil
}
