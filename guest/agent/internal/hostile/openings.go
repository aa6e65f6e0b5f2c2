package main

import (
	"bytes"
	"crypto/rand"
	"io"
	"os"
	"time"
)

const (
	ready     = "ATOLL-READY/1\r\n\x00"
	fault     = "ATOLL-FAULT/1\r\n\x00"
	helloSize = 32
)

// openings are what it does with the port instead of opening an epoch, by name.
var openings = map[string]func(*os.File){
	// Nothing.
	"silent": func(*os.File) {},
	// Noise without end, which begins before the host speaks.
	"noise": func(port *os.File) { forever(port, random(1<<16)) },
	// The right answer, and more behind it before the host has said what it wants.
	"early": func(port *os.File) { forever(port, append(answer(port), random(1<<16)...)) },
	// The right magic, over and over, and never the right nonce.
	"nonce": func(port *os.File) { forever(port, bytes.Repeat([]byte(ready+"0123456789abcdef"), 2048)) },
	// An epoch in which no HTTP/2 is spoken.
	"http1": func(port *os.File) {
		send(port, answer(port))
		time.Sleep(time.Second)
		forever(port, bytes.Repeat([]byte("HTTP/1.1 200 OK\r\n\r\n"), 4096))
	},
	// An epoch whose guest cannot take up what it is told.
	"fault": func(port *os.File) {
		greeting := answer(port)
		send(port, greeting)
		answer(port)
		send(port, append([]byte(fault), greeting[len(ready):]...))
	},
	// An epoch in which nothing is spoken.
	"mute": func(port *os.File) { send(port, answer(port)) },
}

// answer waits for the hello and answers what is right.
func answer(port *os.File) []byte {
	hello := make([]byte, 4096)
	for {
		n, err := port.Read(hello)
		if err == nil && n >= helloSize {
			return append([]byte(ready), hello[16:helloSize]...)
		}
		time.Sleep(time.Millisecond)
	}
}

func send(port io.Writer, data []byte) { port.Write(data) }

// forever writes the same again and again, also when the host goes away and comes back.
func forever(port *os.File, data []byte) {
	for {
		if _, err := port.Write(data); err != nil {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func random(size int) []byte {
	data := make([]byte, size)
	rand.Read(data)
	return data
}
