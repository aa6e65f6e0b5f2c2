package channel

import (
	"bytes"
	"encoding/binary"
	"log"
	"time"
)

// The frames that open an epoch: a magic and a nonce of the host's, in an AWAKE what a guest needs that was asleep, and in a NAMED who it
// is from now on.
const (
	helloMagic = "ATOLL-HELLO/1\r\n\x00"
	readyMagic = "ATOLL-READY/1\r\n\x00"
	awakeMagic = "ATOLL-AWAKE/1\r\n\x00"
	namedMagic = "ATOLL-NAMED/1\r\n\x00"
	aliveMagic = "ATOLL-ALIVE/1\r\n\x00"
	faultMagic = "ATOLL-FAULT/1\r\n\x00"
	nonceSize  = 16
	clockSize  = 8
	seedSize   = 32
	helloSize  = len(helloMagic) + nonceSize
	awakeSize  = helloSize + clockSize + seedSize
	lengthSize = 4
	namedHead  = helloSize + lengthSize
	// maxName is far more than names and addresses take.
	maxName = messageSize

	// preface is what an HTTP/2 client with prior knowledge sends first.
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// greeter follows the opening of one epoch. It holds the bytes that are not decided yet.
//
// Bytes of an older epoch may precede the HELLO and are dropped. After READY the host sends more HELLOs (repeats that
// crossed our READY, or a new nonce), perhaps an AWAKE and a NAMED with the nonce it was greeted by, and then the preface; anything else
// means that the host is not the one greeted.
type greeter struct {
	guest   Guest
	pending []byte
	greeted bool
	nonce   [nonceSize]byte
}

// feed takes the next bytes from the host. It returns what to answer, if anything, and whether the epoch is open; then
// pending begins with the preface.
func (g *greeter) feed(data []byte) (answer []byte, open bool) {
	g.pending = append(g.pending, data...)
	for {
		if !g.greeted && !g.findHello() {
			return answer, false
		}
		switch {
		case bytes.HasPrefix(g.pending, []byte(preface)):
			return answer, true
		case bytes.HasPrefix(g.pending, []byte(helloMagic)) && len(g.pending) >= helloSize:
			answer = append(answer, g.takeHello()...)
		case bytes.HasPrefix(g.pending, []byte(awakeMagic+string(g.nonce[:]))) && len(g.pending) >= awakeSize:
			answer = append(answer, g.takeAwake()...)
		case g.namedSize() > 0 && len(g.pending) >= g.namedSize():
			answer = append(answer, g.takeNamed()...)
		case g.undecided():
			return answer, false
		default:
			g.greeted = false
		}
	}
}

// findHello drops what precedes the magic, and tells whether the magic is there.
func (g *greeter) findHello() bool {
	at := bytes.Index(g.pending, []byte(helloMagic))
	if at < 0 {
		keep := min(len(g.pending), len(helloMagic)-1)
		g.pending = append(g.pending[:0], g.pending[len(g.pending)-keep:]...)
		return false
	}
	g.pending = g.pending[at:]
	return true
}

// takeHello consumes the whole HELLO that pending begins with and returns the READY for it; nil for a repeat.
func (g *greeter) takeHello() []byte {
	nonce := [nonceSize]byte(g.pending[len(helloMagic):helloSize])
	g.pending = g.pending[helloSize:]
	if g.greeted && nonce == g.nonce {
		return nil
	}
	g.greeted, g.nonce = true, nonce
	return append([]byte(readyMagic), nonce[:]...)
}

// takeAwake consumes the whole AWAKE that pending begins with, has the guest take up what it says, and returns how that went.
func (g *greeter) takeAwake() []byte {
	content := g.pending[helloSize:awakeSize]
	now := time.Unix(0, int64(binary.BigEndian.Uint64(content)))
	err := g.guest.Wake(now, content[clockSize:])
	g.pending = g.pending[awakeSize:]
	return g.outcome(err)
}

// takeNamed consumes the whole NAMED that pending begins with, has the guest become who it says, and returns how that went.
func (g *greeter) takeNamed() []byte {
	size := g.namedSize()
	err := g.guest.Become(g.pending[namedHead:size])
	g.pending = g.pending[size:]
	return g.outcome(err)
}

// outcome is the answer to an AWAKE or a NAMED. What went wrong is for the console alone.
func (g *greeter) outcome(err error) []byte {
	magic := aliveMagic
	if err != nil {
		log.Print(err)
		magic = faultMagic
	}
	return append([]byte(magic), g.nonce[:]...)
}

// namedSize is the size of the NAMED that pending begins with, when it has come far enough to tell; 0 otherwise.
func (g *greeter) namedSize() int {
	if len(g.pending) < namedHead || !bytes.HasPrefix(g.pending, []byte(namedMagic+string(g.nonce[:]))) {
		return 0
	}
	length := binary.BigEndian.Uint32(g.pending[helloSize:])
	if length > maxName {
		return 0
	}
	return namedHead + int(length)
}

// undecided tells that pending may still grow into a frame, or into the preface.
func (g *greeter) undecided() bool {
	return isPrefix(g.pending, preface) || isFrameStart(g.pending, helloMagic, helloSize) ||
		isFrameStart(g.pending, awakeMagic+string(g.nonce[:]), awakeSize) ||
		isFrameStart(g.pending, namedMagic+string(g.nonce[:]), max(namedHead, g.namedSize()))
}

// isPrefix tells that data may still grow into want.
func isPrefix(data []byte, want string) bool {
	return len(data) <= len(want) && string(data) == want[:len(data)]
}

// isFrameStart tells that data may still grow into a frame of this size that begins so.
func isFrameStart(data []byte, beginning string, size int) bool {
	return isPrefix(data, beginning) || len(data) < size && bytes.HasPrefix(data, []byte(beginning))
}

// isHello tells that a message is nothing but HELLOs: the host starts anew although the epoch's end went unnoticed.
//
// The port keeps the host's writes apart, and the host sends a HELLO on a fresh connection in a write of its own, so the
// same bytes inside an upload do not count.
func isHello(message []byte) bool {
	if len(message) == 0 || len(message)%helloSize != 0 {
		return false
	}
	for ; len(message) > 0; message = message[helloSize:] {
		if !bytes.HasPrefix(message, []byte(helloMagic)) {
			return false
		}
	}
	return true
}
