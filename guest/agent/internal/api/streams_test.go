package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"atoll/guest/agent/internal/frame"
)

// duplex begins a call whose request goes on: what is written to the sink is its body.
func duplex(t *testing.T, method, route string) (sink *io.PipeWriter, response func() *http.Response) {
	t.Helper()
	body, sink := io.Pipe()
	t.Cleanup(func() { sink.Close() })
	answered := make(chan *http.Response, 1)
	go func() { answered <- send(t, context.Background(), method, route, body) }()
	return sink, func() *http.Response { return <-answered }
}

func specFrame(spec object) []byte {
	var bytes bytes.Buffer
	text, _ := json.Marshal(spec)
	frame.NewWriter(&bytes, nil).Put(requestSpec, text)
	return bytes.Bytes()
}

func TestMergedOutput(t *testing.T) {
	spec := object{"command": "sh", "args": []string{"-c", "echo a; echo b >&2; echo c"}, "merge_output": true}
	if r := execute(t, spec, nil); string(r.stdout) != "a\nb\nc\n" || len(r.stderr) > 0 {
		t.Errorf("%q %q", r.stdout, r.stderr)
	}
}

func TestDetachedCommandOutlivesTheHost(t *testing.T) {
	mark := t.TempDir() + "/mark"
	sink, response := duplex(t, "POST", "/exec")
	script := fmt.Sprintf("echo up; sleep 0.3; echo out; echo done >%s", mark)
	sink.Write(specFrame(object{"command": "sh", "args": []string{"-c", script}, "merge_output": true, "detach": true}))
	answer := response()
	frame.NewReader(answer.Body).Next()
	time.Sleep(50 * time.Millisecond)
	answer.Body.Close()
	waitFor(t, "the command ends by itself", func() bool {
		r := execute(t, object{"command": "cat", "args": []string{mark}}, nil)
		return string(r.stdout) == "done\n"
	})
}

func TestSignal(t *testing.T) {
	sink, response := duplex(t, "POST", "/exec")
	script := "trap 'exit 7' USR1; echo up; while :; do sleep 0.01; done"
	sink.Write(specFrame(object{"command": "sh", "args": []string{"-c", script}}))
	reader := frame.NewReader(response().Body)
	reader.Next()
	text, _ := reader.Whole(100)
	var started startedEvent
	json.Unmarshal(text, &started)
	reader.Next()
	if status, _ := ask(t, "/signal", object{"pid": started.PID, "signal": "USR1"}); status != 204 {
		t.Errorf("status %d", status)
	}
	readUntil(t, reader, `"exit_code":7`)
	for signal, want := range map[string]string{"TERM": "ESRCH", "NONE": "EINVAL"} {
		_, answer := ask(t, "/signal", object{"pid": started.PID, "signal": signal})
		if answer["errno"] != want {
			t.Errorf("%s: %v", signal, answer)
		}
	}
}

func TestTerminal(t *testing.T) {
	sink, response := duplex(t, "POST", "/terminal")
	sink.Write(specFrame(object{"cols": 91, "rows": 33}))
	input := frame.NewWriter(sink, func() error { return nil })
	reader := frame.NewReader(response().Body)
	reader.Next()
	text, _ := reader.Whole(100)
	var started startedEvent
	json.Unmarshal(text, &started)
	input.Put(requestStdin, []byte("stty size; echo $TERM; case $- in *i*) echo in''teractive;; esac\n"))
	shown := readUntil(t, reader, "interactive")
	if !strings.Contains(shown, "33 91") || !strings.Contains(shown, defaultTerm) {
		t.Errorf("%q", shown)
	}
	if status, _ := ask(t, "/resize", object{"pid": started.PID, "cols": 132, "rows": 50}); status != 204 {
		t.Errorf("resize: %d", status)
	}
	input.Put(requestStdin, []byte("stty size; sleep 60\n"))
	readUntil(t, reader, "50 132")
	// The keys for what comes next are typed once the program has ended: an interrupt drops what was typed before.
	time.Sleep(100 * time.Millisecond)
	input.Put(requestStdin, []byte("\x03"))
	readUntil(t, reader, "^C")
	time.Sleep(100 * time.Millisecond)
	input.Put(requestStdin, []byte("exit 5\n"))
	if rest := readUntil(t, reader, `"exit_code":5`); rest == "" {
		t.Error("no exit")
	}
	if _, answer := ask(t, "/resize", object{"pid": started.PID, "cols": 1, "rows": 1}); answer["errno"] != "ESRCH" {
		t.Errorf("after the end: %v", answer)
	}
}

func TestHangUpLeavesNothing(t *testing.T) {
	sink, response := duplex(t, "POST", "/terminal")
	sink.Write(specFrame(object{"cols": 80, "rows": 24}))
	input := frame.NewWriter(sink, func() error { return nil })
	answer := response()
	input.Put(requestStdin, []byte("sleep 4711 & (trap '' HUP; sleep 4712); sleep 4713\n"))
	running := func(pattern string) bool {
		return execute(t, object{"command": "pgrep", "args": []string{"-f", pattern}}, nil).exit.ExitCode == 0
	}
	waitFor(t, "the shell's programs run", func() bool { return running("^sleep 4711") && running("^sleep 4712") })
	answer.Body.Close()
	waitFor(t, "nothing is left", func() bool { return !running("^sleep 471") })
}

// readUntil collects payloads until the text is among them.
func readUntil(t *testing.T, frames *frame.Reader, text string) string {
	t.Helper()
	var seen strings.Builder
	for !strings.Contains(seen.String(), text) {
		_, payload, err := frames.Next()
		if err != nil {
			t.Fatalf("%v after %q", err, seen.String())
		}
		io.Copy(&seen, payload)
	}
	return seen.String()
}

func waitFor(t *testing.T, what string, isTrue func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !isTrue(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

func TestConnect(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("%s: %v", address, err)
			continue
		}
		go func() {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			io.Copy(connection, connection)
			connection.Close()
		}()
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		body := strings.NewReader("there and back")
		request, _ := http.NewRequest("CONNECT", "http://guest:"+port, body)
		response, err := client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		echoed, err := io.ReadAll(response.Body)
		if response.StatusCode != 200 || string(echoed) != "there and back" || err != nil {
			t.Errorf("%s: %d %q %v", address, response.StatusCode, echoed, err)
		}
		listener.Close()
		request, _ = http.NewRequest("CONNECT", "http://guest:"+port, strings.NewReader(""))
		response, err = client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		if response.StatusCode != 422 || !strings.Contains(string(text), "ECONNREFUSED") {
			t.Errorf("nobody there: %d %s", response.StatusCode, text)
		}
	}
}

func TestTunnel(t *testing.T) {
	free, _ := net.Listen("tcp", "127.0.0.1:0")
	port := free.Addr().(*net.TCPAddr).Port
	if answer := tunnelOf(t, port); answer.StatusCode != 422 {
		t.Fatal("a port in use is refused")
	}
	free.Close()
	response := tunnelOf(t, port)
	events := frame.NewReader(response.Body)
	events.Next()
	guest, err := net.Dial("tcp", free.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	events.Next()
	text, _ := events.Whole(100)
	var connected connectedEvent
	json.Unmarshal(text, &connected)
	sink, accepted := duplex(t, "POST", fmt.Sprintf("/tunnel/accept?id=%d", connected.ID))
	frames := frame.NewReader(accepted().Body)
	guest.Write([]byte("to the host"))
	guest.(*net.TCPConn).CloseWrite()
	if kind, _, _ := frames.Next(); kind != tunnelData {
		t.Errorf("frame %d", kind)
	}
	if data, _ := frames.Whole(100); string(data) != "to the host" {
		t.Errorf("%q", data)
	}
	if kind, _, _ := frames.Next(); kind != tunnelEOF {
		t.Errorf("frame %d", kind)
	}
	sink.Write([]byte("to the guest"))
	sink.Close()
	if data, err := io.ReadAll(guest); string(data) != "to the guest" || err != nil {
		t.Errorf("%q %v", data, err)
	}
	waiting, _ := net.Dial("tcp", free.Addr().String())
	events.Next()
	response.Body.Close()
	if _, err := io.ReadAll(waiting); err == nil {
		t.Error("a connection that nobody took ends with a reset")
	}
	if _, err := net.Dial("tcp", free.Addr().String()); err == nil {
		t.Error("nobody listens any more")
	}
}

func tunnelOf(t *testing.T, port int) *http.Response {
	sink, response := duplex(t, "POST", "/tunnel")
	sink.Write(specFrame(object{"port": port}))
	return response()
}
