package channel

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzGreeter: the host's bytes open an epoch in the same way wherever they are cut, an answer is READY or ALIVE with a nonce that the host sent for it,
// and little is kept of what was no hello.
func FuzzGreeter(f *testing.F) {
	f.Add([]byte(helloMagic+nonceA+request), 1)
	f.Add([]byte("stale"+helloMagic+nonceA+helloMagic+nonceB+request), 7)
	f.Add([]byte(helloMagic+helloMagic+preface), 3)
	f.Add([]byte(request), 2)
	f.Add([]byte(helloMagic+nonceA+awakeMagic+nonceA+awakeNews+request), 5)
	f.Add([]byte(helloMagic+nonceA+namedMagic+nonceA+newName+request), 6)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		if size < 1 || size > len(data) {
			size = 1
		}
		answer, rest, open := greet(string(data), size)
		wholeAnswer, wholeRest, wholeOpen := greet(string(data), max(1, len(data)))
		if answer != wholeAnswer || rest != wholeRest || open != wholeOpen {
			t.Errorf("%q: %q %q %v in pieces of %d, %q %q %v at once", data, answer, rest, open, size, wholeAnswer, wholeRest, wholeOpen)
		}
		for ; len(answer) > 0; answer = answer[helloSize:] {
			asked := map[string][]string{readyMagic: {helloMagic}, aliveMagic: {awakeMagic, namedMagic}}[answer[:len(readyMagic)]]
			nonce := answer[len(readyMagic):helloSize]
			wasAsked := func(magic string) bool { return bytes.Contains(data, []byte(magic+nonce)) }
			if !slices.ContainsFunc(asked, wasAsked) {
				t.Fatalf("%q answers %q", answer, data)
			}
		}
		if !open && len(rest) > namedHead+maxName {
			t.Errorf("keeps %d bytes", len(rest))
		}
		isHello(data)
	})
}
