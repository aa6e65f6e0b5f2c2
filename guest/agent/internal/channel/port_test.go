package channel

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeDevice acts like the virtio port: it keeps messages apart, reads EOF while the host is away, goes on after that.
type fakeDevice struct {
	mu                          sync.Mutex
	changed                     *sync.Cond
	connected, full             bool
	incoming                    [][]byte
	outgoing                    []byte
	readDeadline, writeDeadline time.Time
	readers, writers            int
}

func newFakeDevice() *fakeDevice {
	d := &fakeDevice{}
	d.changed = sync.NewCond(&d.mu)
	return d
}

func (d *fakeDevice) change(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
	d.changed.Broadcast()
}

func expired(deadline time.Time) bool { return !deadline.IsZero() && !deadline.After(time.Now()) }

func (d *fakeDevice) Read(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readers++
	defer func() { d.readers-- }()
	if d.readers > 1 {
		panic("two readers")
	}
	for {
		switch {
		case expired(d.readDeadline):
			return 0, os.ErrDeadlineExceeded
		case len(d.incoming) > 0:
			n := copy(p, d.incoming[0])
			d.incoming = d.incoming[1:]
			return n, nil
		case !d.connected:
			return 0, io.EOF
		}
		d.changed.Wait()
	}
}

func (d *fakeDevice) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writers++
	defer func() { d.writers-- }()
	if d.writers > 1 {
		panic("two writers")
	}
	for d.full {
		if expired(d.writeDeadline) {
			return 0, os.ErrDeadlineExceeded
		}
		d.changed.Wait()
	}
	if d.connected {
		d.outgoing = append(d.outgoing, p...)
	}
	d.changed.Broadcast()
	return len(p), nil
}

func (d *fakeDevice) SetReadDeadline(at time.Time) error {
	d.change(func() { d.readDeadline = at })
	return nil
}

func (d *fakeDevice) SetWriteDeadline(at time.Time) error {
	d.change(func() { d.writeDeadline = at })
	return nil
}

func (d *fakeDevice) connect()    { d.change(func() { d.connected = true }) }
func (d *fakeDevice) disconnect() { d.change(func() { d.connected = false }) }
func (d *fakeDevice) send(messages ...string) {
	d.change(func() {
		for _, message := range messages {
			d.incoming = append(d.incoming, []byte(message))
		}
	})
}

// expect waits for exactly these bytes from the guest.
func (d *fakeDevice) expect(t *testing.T, want string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.outgoing) < len(want) {
		d.changed.Wait()
	}
	if got := string(d.outgoing); got != want {
		t.Fatalf("the guest sent %q, want %q", got, want)
	}
	d.outgoing = nil
}

func accept(t *testing.T, p *Port) net.Conn {
	t.Helper()
	connection, err := p.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

func readString(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("read %q, %v; want %q", got, err, want)
	}
}

func open(t *testing.T, d *fakeDevice, p *Port, nonce string) net.Conn {
	t.Helper()
	d.connect()
	d.send(helloMagic+nonce, preface)
	c := accept(t, p)
	d.expect(t, readyMagic+nonce)
	readString(t, c, preface)
	return c
}

func TestEpochCarriesBytes(t *testing.T) {
	d := newFakeDevice()
	c := open(t, d, &Port{device: d}, nonceA)
	d.send("abc", strings.Repeat("d", messageSize))
	readString(t, c, "a")
	readString(t, c, "bc")
	got := make([]byte, 2*messageSize)
	if n, err := c.Read(got); n != messageSize || err != nil {
		t.Fatalf("read %d, %v", n, err)
	}
	if _, err := c.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	d.expect(t, "answer")
}

func TestHostLeavesAndComesBack(t *testing.T) {
	d := newFakeDevice()
	p := &Port{device: d}
	for range 3 {
		c := open(t, d, p, nonceA)
		d.disconnect()
		if _, err := c.Read(make([]byte, 10)); err != io.EOF {
			t.Fatalf("read after the host left: %v", err)
		}
		if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Fatalf("write after the end: %v", err)
		}
	}
}

func TestHelloEndsTheEpoch(t *testing.T) {
	d := newFakeDevice()
	p := &Port{device: d}
	c := open(t, d, p, nonceA)
	d.send("half a fra", helloMagic+nonceB)
	readString(t, c, "half a fra")
	for range 2 {
		if n, err := c.Read(make([]byte, 9000)); n != 0 || err == nil {
			t.Fatalf("read %d, %v", n, err)
		}
	}
	d.send(helloMagic+nonceB, preface)
	c = accept(t, p)
	d.expect(t, readyMagic+nonceB)
	readString(t, c, preface)
}

func TestHelloInsideAMessageIsData(t *testing.T) {
	d := newFakeDevice()
	c := open(t, d, &Port{device: d}, nonceA)
	upload := "frame" + helloMagic + nonceB
	d.send(upload)
	readString(t, c, upload)
}

func TestCloseWakesReaderAndWriter(t *testing.T) {
	d := newFakeDevice()
	p := &Port{device: d}
	c := open(t, d, p, nonceA)
	d.change(func() { d.full = true })
	var calls sync.WaitGroup
	calls.Add(2)
	go func() {
		defer calls.Done()
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("read after Close")
		}
	}()
	go func() {
		defer calls.Done()
		if _, err := c.Write([]byte("stuck")); err == nil {
			t.Error("write after Close")
		}
	}()
	time.Sleep(10 * time.Millisecond)
	c.Close()
	c.Close()
	calls.Wait()
	d.change(func() { d.full = false })
	open(t, d, p, nonceB)
}

func TestEpochsNeverOverlap(t *testing.T) {
	d := newFakeDevice()
	p := &Port{device: d}
	var users sync.WaitGroup
	for range 50 {
		c := open(t, d, p, nonceA)
		for range 4 {
			users.Add(2)
			go func() { defer users.Done(); c.Read(make([]byte, 10)) }()
			go func() { defer users.Done(); c.Read(make([]byte, messageSize)) }()
		}
		c.Close()
	}
	users.Wait()
}

func TestQuiesceIsToldFromAnEndOfTheHosts(t *testing.T) {
	d := newFakeDevice()
	c := open(t, d, &Port{device: d}, nonceA)
	request, done := context.WithCancel(WithEpoch(context.Background(), c))
	if Quiesced(request) {
		t.Fatal("quiesced before it was asked for")
	}
	Quiesce(request)
	done()
	if c.(*Epoch).over() {
		t.Fatal("ended by the agent")
	}
	d.disconnect()
	if _, err := c.Read(make([]byte, 1)); err == nil || !Quiesced(request) {
		t.Fatal("still open, or forgotten why")
	}
	if Quiesced(context.Background()) {
		t.Fatal("quiesced without an epoch")
	}
}

func TestHelloThatIsReadWhileTheEpochIsClosedIsAnswered(t *testing.T) {
	d := newFakeDevice()
	p := &Port{device: d}
	c := open(t, d, p, nonceA).(*Epoch)
	// As a reader that has the message and finds the epoch closed by someone else meanwhile.
	c.Close()
	p.reading.Lock()
	d.change(func() {
		d.readDeadline = time.Time{}
		d.incoming = append(d.incoming, []byte(helloMagic+nonceB))
	})
	if _, err := c.receive(make([]byte, messageSize)); err != io.EOF {
		t.Fatal(err)
	}
	p.reading.Unlock()
	d.change(func() { d.incoming = append(d.incoming, []byte(preface)) })
	readString(t, accept(t, p), preface)
	d.expect(t, readyMagic+nonceB)
}

func TestFindPort(t *testing.T) {
	class := t.TempDir()
	for port, name := range map[string]string{"vport1p1": "other\n", "vport2p7": "agent\n"} {
		os.Mkdir(filepath.Join(class, port), 0o755)
		os.WriteFile(filepath.Join(class, port, "name"), []byte(name), 0o644)
	}
	if path, ok := findPort(class, "agent"); !ok || path != "/dev/vport2p7" {
		t.Errorf("%q, %v", path, ok)
	}
	if path, ok := findPort(class, "age"); ok {
		t.Errorf("found %q", path)
	}
}
