package channel

import (
	"bytes"
	"encoding/binary"
	"time"
)

// The frames that open an epoch: a magic and a nonce of the host's, and in an AWAKE what a guest needs that was asleep.
const (
	helloMagic = "ATOLL-HELLO/1\r\n\x00"
	readyMagic = "ATOLL-READY/1\r\n\x00"
	awakeMagic = "ATOLL-AWAKE/1\r\n\x00"
	aliveMagic = "ATOLL-ALIVE/1\r\n\x00"
	faultMagic = "ATOLL-FAULT/1\r\n\x00"
	nonceSize  = 16
	clockSize  = 8
	seedSize   = 32
	helloSize  = len(helloMagic) + nonceSize
	awakeSize  = helloSize + clockSize + seedSize

	// preface is what an HTTP/2 client with prior knowledge sends first.
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// greeter follows the opening of one epoch. It holds the bytes that are not decided yet.
//
// Bytes of an older epoch may precede the HELLO and are dropped. After READY the host sends more HELLOs (repeats that
// crossed our READY, or a new nonce), perhaps an AWAKE with the nonce it was greeted by, and then the preface; anything else means
// that the host is not the one greeted.
type greeter struct {
	wake    Wake
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
	outcome := aliveMagic
	if err := g.wake(now, content[clockSize:]); err != nil {
		outcome = faultMagic
	}
	g.pending = g.pending[awakeSize:]
	return append([]byte(outcome), g.nonce[:]...)
}

// undecided tells that pending may still grow into a frame, or into the preface.
func (g *greeter) undecided() bool {
	return isPrefix(g.pending, preface) || isFrameStart(g.pending, helloMagic, helloSize) ||
		isFrameStart(g.pending, awakeMagic+string(g.nonce[:]), awakeSize)
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
