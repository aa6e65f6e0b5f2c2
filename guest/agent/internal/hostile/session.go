package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"regexp"
	"sync"
	"time"

	"atoll/guest/agent/internal/channel"
	"atoll/guest/agent/internal/identity"
)

// HTTP/2 by hand (RFC 9113), so that it can be broken by hand.
const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePushPromise  = 5
	framePing         = 6
	frameGoaway       = 7
	frameWindowUpdate = 8
	frameContinuation = 9

	flagEndStream  = 1
	flagAck        = 1
	flagEndHeaders = 4

	settingInitialWindow = 4
	defaultWindow        = 65535

	// What goes into one frame where nothing else is wanted; the host takes frames of 1 MiB.
	chunk = 1 << 16

	// How long a request may say nothing, before it is taken for one that waits for an answer first.
	silence = 300 * time.Millisecond
)

var (
	// The indexed forms of `:status` (RFC 7541, appendix A).
	status200 = []byte{0x88}
	status204 = []byte{0x89}

	asked    = regexp.MustCompile(`@([a-z0-9-]+)`)
	askedFor = regexp.MustCompile(`"(?:port|cols)":(6\d\d)\b`)
)

// session is one epoch.
type session struct {
	conn    net.Conn
	writing sync.Mutex

	lock  sync.Mutex
	moved *sync.Cond
	over  bool
	// mute keeps it from answering pings.
	mute    bool
	initial int64
	window  int64
	streams map[uint32]*stream
}

// stream is one request.
type stream struct {
	*session
	id     uint32
	window int64
	gone   bool
	body   []byte
	begun  bool
}

// armed makes requests without a body, such as that to be quiet for a snapshot, go unanswered.
var armed bool

func serve() {
	port, err := channel.Open("agent", channel.Guest{
		Wake:   identity.Wake,
		Become: func([]byte) error { return nil },
	})
	must(err)
	for {
		conn, err := port.Accept()
		must(err)
		s := &session{conn: conn, initial: defaultWindow, window: defaultWindow, streams: map[uint32]*stream{}}
		s.moved = sync.NewCond(&s.lock)
		s.run()
		s.lock.Lock()
		s.over = true
		s.moved.Broadcast()
		s.lock.Unlock()
		conn.Close()
	}
}

func (s *session) run() {
	in := bufio.NewReader(s.conn)
	if _, err := in.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
		return
	}
	// Its settings: as many streams as anybody wants.
	s.frame(frameSettings, 0, 0, nil)
	head := make([]byte, 9)
	for {
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(in, payload); err != nil {
			return
		}
		s.take(head[3], head[4], binary.BigEndian.Uint32(head[5:])&0x7fffffff, payload)
	}
}

func (s *session) take(kind, flags byte, id uint32, payload []byte) {
	s.lock.Lock()
	defer s.lock.Unlock()
	defer s.moved.Broadcast()
	at := s.streams[id]
	switch kind {
	case frameSettings:
		if flags&flagAck != 0 {
			return
		}
		for ; len(payload) >= 6; payload = payload[6:] {
			if binary.BigEndian.Uint16(payload) == settingInitialWindow {
				s.initial = int64(binary.BigEndian.Uint32(payload[2:]))
			}
		}
		go s.frame(frameSettings, flagAck, 0, nil)
	case framePing:
		if flags&flagAck == 0 && !s.mute {
			go s.frame(framePing, flagAck, 0, payload)
		}
	case frameWindowUpdate:
		by := int64(binary.BigEndian.Uint32(payload))
		if id == 0 {
			s.window += by
		} else if at != nil {
			at.window += by
		}
	case frameReset:
		if at != nil {
			at.gone = true
		}
	case frameHeaders:
		at = &stream{session: s, id: id, window: s.initial}
		s.streams[id] = at
		if flags&flagEndStream != 0 {
			go at.withoutBody()
		} else {
			time.AfterFunc(silence, at.silent)
		}
	case frameData:
		if at == nil || len(payload) == 0 {
			return
		}
		at.body = append(at.body, payload...)
		at.consider()
		go s.allow(id, len(payload))
	}
}

// withoutBody answers health, and whatever else has no body, by the same.
func (s *stream) withoutBody() {
	if armed {
		return
	}
	s.headers(status200, 0)
	s.data([]byte(`{"generation":5,"version":"hostile","kernel":"hostile"}`), flagEndStream)
}

// silent answers a request that waits for an answer before it says anything: a CONNECT.
func (s *stream) silent() {
	s.lock.Lock()
	quiet := len(s.body) == 0 && !s.gone
	s.lock.Unlock()
	if quiet {
		s.headers(status200, 0)
	}
}

// consider starts the answer that the body asks for, once. Holding the lock.
func (s *stream) consider() {
	if s.begun {
		return
	}
	name := ""
	if found := asked.FindSubmatch(s.body); found != nil {
		name = string(found[1])
	} else if found := askedFor.FindSubmatch(s.body); found != nil {
		name = string(found[1])
	}
	lie, known := lies[name]
	if !known && bytes.Contains(s.body, []byte(`"command":`)) {
		lie = lies["truth"]
	} else if !known {
		lie = func(s *stream) { s.headers(status204, flagEndStream) }
	}
	s.begun = true
	go lie(s)
}

// allow gives the host back what it has sent.
func (s *session) allow(id uint32, size int) {
	by := binary.BigEndian.AppendUint32(nil, uint32(size))
	s.frame(frameWindowUpdate, 0, 0, by)
	s.frame(frameWindowUpdate, 0, id, by)
}

// frame sends one, whatever it holds.
func (s *session) frame(kind, flags byte, id uint32, payload []byte) bool {
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	head = binary.BigEndian.AppendUint32(head, id)
	return s.raw(append(head, payload...))
}

func (s *session) raw(data []byte) bool {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err := s.conn.Write(data)
	return err == nil
}

func (s *stream) headers(block []byte, flags byte) {
	s.frame(frameHeaders, flags|flagEndHeaders, s.id, block)
}

// data sends bytes as the windows allow. It answers false once nobody wants any.
func (s *stream) data(bytes []byte, flags byte) bool {
	for {
		size := min(len(bytes), chunk)
		if !s.reserve(int64(size)) {
			return false
		}
		last := size == len(bytes)
		kind := byte(0)
		if last {
			kind = flags
		}
		if !s.frame(frameData, kind, s.id, bytes[:size]) {
			return false
		}
		if bytes = bytes[size:]; last {
			return true
		}
	}
}

func (s *stream) reserve(size int64) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	for !s.over && !s.gone && (s.session.window < size || s.window < size) {
		s.moved.Wait()
	}
	s.session.window -= size
	s.window -= size
	return !s.over && !s.gone
}
