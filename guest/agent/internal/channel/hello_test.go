package channel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	nonceA = strings.Repeat("A", nonceSize)
	nonceB = strings.Repeat("B", nonceSize)
)

// awakeNews is what follows an AWAKE's nonce: 1,000,000,001 seconds and 2 nanoseconds since 1970, and a seed.
const awakeNews = "\x0d\xe0\xb6\xb3\xe2\xfe\xca\x02" + "0123456789abcdef0123456789abcdef"

// newName is what follows a NAMED's nonce.
const newName = "\x00\x00\x00\x12" + `{"hostname":"box"}`

const request = preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

func TestGreeter(t *testing.T) {
	helloA, helloB := helloMagic+nonceA, helloMagic+nonceB
	readyA, readyB := readyMagic+nonceA, readyMagic+nonceB
	awakeA, namedA, aliveA := awakeMagic+nonceA+awakeNews, namedMagic+nonceA+newName, aliveMagic+nonceA
	cases := []struct{ name, in, answer, rest string }{
		{"plain", helloA + request, readyA, request},
		{"stale bytes before", "\x00\x01GET" + helloA + request, readyA, request},
		{"part of a magic before", helloMagic[:9] + helloA + request, readyA, request},
		{"repeated", helloA + helloA + helloA + request, readyA, request},
		{"other nonce", helloA + helloB + request, readyA + readyB, request},
		{"nonces alternate", helloA + helloB + helloA + request, readyA + readyB + readyA, request},
		{"a preface without a hello", request + helloA + request, readyA, request},
		{"garbage after READY", helloA + "garbage" + helloB + request, readyA + readyB, request},
		{"broken preface", helloA + "PRI * HTTP/1.1" + helloA + request, readyA + readyA, request},
		{"broken repeat", helloA + helloMagic[:7] + request + helloB + request, readyA + readyB, request},
		{"magic as nonce", helloMagic + helloMagic + request, readyMagic + helloMagic, request},
		{"awakened", helloA + awakeA + request, readyA + aliveA, request},
		{"awakened again", helloA + awakeA + awakeA + request, readyA + aliveA + aliveA, request},
		{"repeated before it awakens", helloA + helloA + awakeA + request, readyA + aliveA, request},
		{"awakened for another", helloA + awakeMagic + nonceB + awakeNews + helloB + request, readyA + readyB, request},
		{"awakened before a hello", awakeA + helloA + request, readyA, request},
		{"named", helloA + awakeA + namedA + request, readyA + aliveA + aliveA, request},
		{"named alone", helloA + namedA + request, readyA + aliveA, request},
		{"named in no words", helloA + namedMagic + nonceA + "\x00\x00\x00\x00" + request, readyA + aliveA, request},
		{"named for another", helloA + namedMagic + nonceB + newName + helloB + request, readyA + readyB, request},
		{"named at length", helloA + namedMagic + nonceA + "\x00\x00\x10\x01" + helloB + request, readyA + readyB, request},
	}
	for _, c := range cases {
		for _, size := range []int{1, 7, 32, len(c.in)} {
			answer, rest, open := greet(c.in, size)
			if !open || answer != c.answer || rest != c.rest {
				t.Errorf("%s, %d bytes at once: open %v, answer %q, rest %q", c.name, size, open, answer, rest)
			}
		}
	}
}

func TestGreeterStaysClosed(t *testing.T) {
	for _, in := range []string{"", "noise", helloMagic, helloMagic + nonceA, helloMagic + nonceA + preface[:23], request} {
		if _, _, open := greet(in, len(in)); open {
			t.Errorf("%q opens an epoch", in)
		}
	}
}

func TestGreeterKeepsLittle(t *testing.T) {
	var g greeter
	for range 100 {
		g.feed([]byte(strings.Repeat("x", 4096)))
	}
	if len(g.pending) > helloSize {
		t.Errorf("holds %d bytes", len(g.pending))
	}
}

func TestGreeterTellsTheGuest(t *testing.T) {
	in := helloMagic + nonceA + awakeMagic + nonceA + awakeNews + namedMagic + nonceA + newName
	var told []string
	g := greeter{guest: Guest{
		Wake: func(now time.Time, seed []byte) error {
			told = append(told, fmt.Sprint(now.UnixNano(), " ", string(seed)))
			return nil
		},
		Become: func(request []byte) error {
			told = append(told, string(request))
			return nil
		},
	}}
	g.feed([]byte(in))
	if want := []string{"1000000001000000002 " + awakeNews[clockSize:], newName[lengthSize:]}; !slices.Equal(told, want) {
		t.Errorf("is told %q, want %q", told, want)
	}

	g = greeter{guest: Guest{
		Wake:   func(time.Time, []byte) error { return errors.New("no clock") },
		Become: func([]byte) error { return errors.New("no name") },
	}}
	want := readyMagic + nonceA + strings.Repeat(faultMagic+nonceA, 2)
	if answer, open := g.feed([]byte(in + request)); string(answer) != want || !open {
		t.Errorf("faults are answered by %q", answer)
	}
}

// greet feeds the bytes size at once. Whatever is fed after the epoch is open belongs to the rest.
func greet(in string, size int) (answer, rest string, open bool) {
	g := greeter{guest: Guest{
		Wake:   func(time.Time, []byte) error { return nil },
		Become: func([]byte) error { return nil },
	}}
	for len(in) > 0 {
		n := min(size, len(in))
		if open {
			return answer, string(g.pending) + in, true
		}
		var more []byte
		more, open = g.feed([]byte(in[:n]))
		answer += string(more)
		in = in[n:]
	}
	return answer, string(g.pending), open
}

func TestIsHello(t *testing.T) {
	hello := helloMagic + nonceA
	for message, want := range map[string]bool{
		"":                             false,
		hello:                          true,
		hello + helloMagic + nonceB:    true,
		hello + "x":                    false,
		"x" + hello:                    false,
		hello[:31]:                     false,
		hello + strings.ToLower(hello): false,
	} {
		if isHello([]byte(message)) != want {
			t.Errorf("isHello(%q) is not %v", message, want)
		}
	}
}
