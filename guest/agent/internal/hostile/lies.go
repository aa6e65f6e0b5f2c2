package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// A frame of exec's: its kind and its payload.
const (
	stdout    = 1
	exited    = 3
	connected = 1

	floodSize = 200_000
)

// lies are the answers to a request, by the name that it has in its body: "@name", or a port or a width of 600 and more.
var lies = map[string]func(*stream){
	// The truth, for once: the session goes on.
	"truth": func(s *stream) { s.ok(output(exited, `{"exit_code":0,"timed_out":false}`)) },
	"arm":   func(s *stream) { armed = true; s.ok(output(exited, `{"exit_code":0,"timed_out":false}`)) },

	// Commands.
	"garbage":     func(s *stream) { s.headers(status200, 0); s.endless(random(chunk)) },
	"huge-frame":  func(s *stream) { s.ok([]byte{stdout, 0xff, 0xff, 0xff, 0xff, 'x'}) },
	"no-exit":     func(s *stream) { s.ok(output(stdout, "and that was all")) },
	"exit-type":   func(s *stream) { s.ok(output(exited, `{"exit_code":"0","timed_out":1}`)) },
	"exit-range":  func(s *stream) { s.ok(output(exited, `{"exit_code":99999,"timed_out":false}`)) },
	"exit-minus":  func(s *stream) { s.ok(output(exited, `{"exit_code":-1,"timed_out":false}`)) },
	"exit-json":   func(s *stream) { s.ok(output(exited, strings.Repeat("[", 100_000))) },
	"output":      func(s *stream) { s.headers(status200, 0); s.endless(output(stdout, strings.Repeat("y", chunk-5))) },
	"never":       func(*stream) {},
	"head-only":   func(s *stream) { s.headers(status200, 0) },
	"tiny-pieces": tinyPieces,
	"reset":       func(s *stream) { s.headers(status200, 0); s.frame(frameReset, 0, s.id, []byte{0, 0, 0, 2}) },

	// Files.
	"list-up":    func(s *stream) { s.ok(entry(`"name":"../../etc/passwd","size":1,"mode":420`)) },
	"list-slash": func(s *stream) { s.ok(entry(`"name":"/etc/passwd","size":1,"mode":420`)) },
	"list-empty": func(s *stream) { s.ok(entry(`"name":"","size":1,"mode":420`)) },
	"list-minus": func(s *stream) { s.ok(entry(`"name":"x","size":-1,"mode":420`)) },
	"list-mode":  func(s *stream) { s.ok(entry(`"name":"x","size":1,"mode":99999999`)) },
	"list-arrays": func(s *stream) {
		s.headers(status200, 0)
		s.data([]byte(`{"entries":[`), 0)
		s.endless(bytes.Repeat([]byte(`[],`), chunk/3))
	},
	"list-deep":  func(s *stream) { s.ok(bytes.Repeat([]byte(`[`), 8<<20)) },
	"list-wrong": func(s *stream) { s.ok([]byte(`{"entries":[` + strings.Repeat("1,", 4<<20) + `1]}`)) },
	"link-huge":  func(s *stream) { s.ok([]byte(`{"target":"` + strings.Repeat("x", 32<<20) + `"}`)) },
	"refusal": func(s *stream) {
		s.headers(status("422"), 0)
		s.data([]byte(`{"errno":"EIO","message":"`), 0)
		s.endless(bytes.Repeat([]byte("x"), chunk))
	},
	"errno": func(s *stream) {
		s.headers(status("422"), 0)
		s.data([]byte(`{"errno":"__proto__","message":"a\u0000b"}`), flagEndStream)
	},
	"read-short": func(s *stream) {
		s.headers(append(status200, length("1000")...), 0)
		s.data([]byte("short"), flagEndStream)
	},
	"read-long": func(s *stream) {
		s.headers(append(status200, length("3")...), 0)
		s.data([]byte("too long"), flagEndStream)
	},
	"read-minus": func(s *stream) { s.headers(append(status200, length("-5")...), 0); s.data([]byte("x"), flagEndStream) },
	"read-word": func(s *stream) {
		s.headers(append(status200, length("many")...), 0)
		s.data([]byte("x"), flagEndStream)
	},
	"read-most": func(s *stream) {
		s.headers(append(status200, length("99999999999999999999")...), 0)
		s.data([]byte("x"), flagEndStream)
	},

	// Heads.
	"status-999":  func(s *stream) { s.headers(status("999"), flagEndStream) },
	"status-word": func(s *stream) { s.headers(status("abc"), flagEndStream) },
	"status-none": func(s *stream) { s.headers(length("1"), 0); s.data([]byte("x"), flagEndStream) },
	"status-100s": func(s *stream) {
		s.flood(func() bool { return s.frame(frameHeaders, flagEndHeaders, s.id, status("103")) })
	},
	"head-huge": headHuge,
	"head-many": func(s *stream) {
		s.headers(append(status200, bytes.Repeat(literal("x", "y"), 20_000)...), flagEndStream)
	},
	"head-endless":    headEndless,
	"head-bomb":       headBomb,
	"head-compressed": func(s *stream) { s.headers([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, flagEndStream) },

	// The session.
	"pings": func(s *stream) { s.flood(func() bool { return s.frame(framePing, 0, 0, make([]byte, 8)) }) },
	"settings": func(s *stream) {
		s.flood(func() bool { return s.frame(frameSettings, 0, 0, []byte{0, 3, 0, 0, 0, 1}) })
	},
	"resets": func(s *stream) { s.flood(func() bool { return s.frame(frameReset, 0, s.id, []byte{0, 0, 0, 8}) }) },
	"empties": func(s *stream) {
		s.headers(status200, 0)
		s.flood(func() bool { return s.frame(frameData, 0, s.id, nil) })
	},
	"unknown": func(s *stream) { s.flood(func() bool { return s.frame(0xbe, 0xff, s.id, make([]byte, 64)) }) },
	"window": func(s *stream) {
		s.headers(status200, 0)
		s.flood(func() bool { return s.frame(frameData, 0, s.id, make([]byte, chunk)) })
	},
	"window-over": func(s *stream) {
		s.flood(func() bool { return s.frame(frameWindowUpdate, 0, 0, []byte{0x7f, 0xff, 0xff, 0xff}) })
	},
	"push": func(s *stream) {
		s.frame(framePushPromise, flagEndHeaders, s.id, append([]byte{0, 0, 0, 2}, status200...))
	},
	"goaway": func(s *stream) { s.mute = true; s.frame(frameGoaway, 0, 0, []byte{0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0}) },
	"too-long": func(s *stream) {
		s.raw([]byte{0xff, 0xff, 0xff, frameData, 0, 0, 0, 0, byte(s.id)})
		s.raw(make([]byte, 1<<20))
	},
	"mid-frame": func(s *stream) { s.raw([]byte{0, 0xff}) },
	"close":     func(s *stream) { s.raw([]byte{0, 0xff}); s.conn.Close() },
	"streams":   func(s *stream) { s.flood(func() bool { s.id += 2; s.headers(status200, 0); return true }) },

	// Servers, behind a connection that is answered by now.
	"web-garbage": func(s *stream) { s.data(append([]byte("\x00\x01"), random(1000)...), flagEndStream) },
	"web-endless": func(s *stream) {
		s.data([]byte("HTTP/1.1 200 OK\r\n"), 0)
		s.endless([]byte(strings.Repeat("x: y\r\n", 5000)))
	},
	"web-status": func(s *stream) { s.data([]byte("HTTP/1.1 9999 Over\x7f\r\n\r\n"), flagEndStream) },
	"web-reason": func(s *stream) {
		s.data([]byte("HTTP/1.1 200 \xc3\x28\x01\r\ncontent-length: 2\r\n\r\nok"), flagEndStream)
	},
	"web-value": func(s *stream) {
		s.data([]byte("HTTP/1.1 200 OK\r\nx-request-id: forged\r\nset-cookie: a\x01b\r\ncontent-length: 2\r\n\r\nok"), flagEndStream)
	},
	"web-both": func(s *stream) {
		s.data([]byte("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"), flagEndStream)
	},
	"web-length": func(s *stream) { s.data([]byte("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nok"), flagEndStream) },
	"web-chunk": func(s *stream) {
		s.data([]byte("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n"), flagEndStream)
	},
	"web-100": func(s *stream) { s.endless([]byte(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 2000))) },
	"web-103": func(s *stream) {
		s.endless([]byte(strings.Repeat("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n", 1000)))
	},
	"web-101": func(s *stream) {
		s.data([]byte("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nhello"), 0)
	},
	"web-never": func(*stream) {},
	"web-two": func(s *stream) {
		s.data([]byte(strings.Repeat("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", 1000)), flagEndStream)
	},

	// Terminals and tunnels.
	"600": func(s *stream) { s.headers(status200, 0); s.endless(random(chunk)) },
	"601": func(s *stream) { s.headers(status200, 0); s.connectedFlood() },
	"602": func(s *stream) { s.ok(output(connected, `{"id":-1}`)) },
}

func (s *stream) ok(body []byte) {
	s.headers(status200, 0)
	s.data(body, flagEndStream)
}

// endless sends the same for as long as somebody takes it.
func (s *stream) endless(data []byte) {
	for s.data(data, 0) {
	}
}

// flood sends many of one kind, without a look at any window, and then gives the request up.
func (s *stream) flood(send func() bool) {
	for range floodSize {
		if !send() {
			return
		}
	}
	s.frame(frameReset, 0, s.id, []byte{0, 0, 0, 8})
}

// tinyPieces sends one large frame of output, a byte in each frame of HTTP/2.
func tinyPieces(s *stream) {
	s.headers(status200, 0)
	all := append(output(stdout, strings.Repeat("z", 128<<10)), output(exited, `{"exit_code":0,"timed_out":false}`)...)
	var packed []byte
	for i, b := range all {
		if len(packed) == 0 && !s.reserve(1000) {
			return
		}
		flags := byte(0)
		if i == len(all)-1 {
			flags = flagEndStream
		}
		packed = append(packed, 0, 0, 1, frameData, flags)
		packed = append(binary.BigEndian.AppendUint32(packed, s.id), b)
		if len(packed) >= 10_000 {
			s.raw(packed)
			packed = nil
		}
	}
	s.raw(packed)
}

// headHuge sends one header of a mebibyte, in as many frames as that takes.
func headHuge(s *stream) {
	s.frame(frameHeaders, 0, s.id, append(status200, 0, 1, 'x', 0x7f, 0x81, 0xff, 0x3f))
	for range 64 {
		s.frame(frameContinuation, 0, s.id, bytes.Repeat([]byte("x"), 1<<14))
	}
	s.frame(frameContinuation, flagEndHeaders, s.id, nil)
}

// headEndless sends headers that never end.
func headEndless(s *stream) {
	s.frame(frameHeaders, 0, s.id, status200)
	for s.frame(frameContinuation, 0, s.id, bytes.Repeat(literal("x", "y"), 2000)) {
	}
}

// headBomb sends one header of 4 KB that is kept, and then says "the same" 16,000 times, a byte each.
func headBomb(s *stream) {
	value := strings.Repeat("x", 4000)
	block := append(status200, 0x40, 1, 'x', 0x7f, 0xa1, 0x1e)
	block = append(block, value...)
	s.headers(append(block, bytes.Repeat([]byte{0xbe}, 16_000)...), flagEndStream)
}

// connectedFlood announces connections that nobody has made.
func (s *stream) connectedFlood() {
	for id := 1; ; id++ {
		var many []byte
		for range 500 {
			many = append(many, output(connected, fmt.Sprintf(`{"id":%d}`, id))...)
			id++
		}
		if !s.data(many, 0) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func output(kind byte, payload string) []byte {
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(payload)))
	return append(head, payload...)
}

func entry(fields string) []byte {
	return []byte(`{"entries":[{` + fields + `,"type":"file","is_dir":false,"is_symlink":false,"mtime_unix":0}]}`)
}

// status is the header `:status` as a literal.
func status(code string) []byte {
	return append([]byte{0x08, byte(len(code))}, code...)
}

// length is the header `content-length` as a literal: index 28, whose four bits overflow.
func length(value string) []byte {
	return append([]byte{0x0f, 28 - 15, byte(len(value))}, value...)
}

func literal(name, value string) []byte {
	return append(append([]byte{0, byte(len(name))}, name...), append([]byte{byte(len(value))}, value...)...)
}
