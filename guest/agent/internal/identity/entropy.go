package identity

import (
	"encoding/binary"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MaxEntropy is the most AddEntropy takes, in bytes.
const MaxEntropy = 4096

const randomDevice = "/dev/urandom"

// AddEntropy mixes bytes of the host's into the kernel's pool and has its generator take them up at once. Without the second
// step, clones of one snapshot go on to draw the same numbers until the generator reseeds by itself.
func AddEntropy(seed []byte) error {
	pool, err := os.OpenFile(randomDevice, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer pool.Close()
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

func control(file *os.File, request, argument uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, file.Fd(), request, argument); errno != 0 {
		return errno
	}
	return nil
}
