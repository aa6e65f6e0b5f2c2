package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"atoll/guest/agent/internal/frame"
)

// result is everything that one exec answered.
type result struct {
	status         int
	failure        failure
	started        *startedEvent
	stdout, stderr []byte
	exit           *exitEvent
}

// execute runs a specification; feed, if given, writes frames after the first, and then the request ends.
func execute(t *testing.T, spec object, feed func(*frame.Writer)) result {
	t.Helper()
	response := begin(t, context.Background(), spec, feed)
	return finish(t, response)
}

func begin(t *testing.T, ctx context.Context, spec object, feed func(*frame.Writer)) *http.Response {
	t.Helper()
	body, sink := io.Pipe()
	go func() {
		requests := frame.NewWriter(sink, func() error { return nil })
		text, _ := json.Marshal(spec)
		requests.Put(requestSpec, text)
		if feed != nil {
			feed(requests)
		}
		sink.Close()
	}()
	return send(t, ctx, "POST", "/exec", body)
}

func finish(t *testing.T, response *http.Response) (r result) {
	t.Helper()
	r.status = response.StatusCode
	if r.status != 200 {
		json.NewDecoder(response.Body).Decode(&r.failure)
		return r
	}
	events := frame.NewReader(response.Body)
	for {
		kind, payload, err := events.Next()
		if err == io.EOF {
			return r
		}
		if err != nil || r.exit != nil {
			t.Fatalf("after %+v: frame %d, %v", r.exit, kind, err)
		}
		data, err := io.ReadAll(payload)
		if err != nil {
			t.Fatal(err)
		}
		switch kind {
		case responseStarted:
			json.Unmarshal(data, &r.started)
		case responseStdout:
			r.stdout = append(r.stdout, data...)
		case responseStderr:
			r.stderr = append(r.stderr, data...)
		case responseExit:
			json.Unmarshal(data, &r.exit)
		}
	}
}

func script(text string) object { return object{"command": "sh", "args": []string{"-c", text}} }

func with(spec object, name string, value any) object {
	spec[name] = value
	return spec
}

func TestExec(t *testing.T) {
	directory := t.TempDir()
	os.WriteFile(directory+"/plain", []byte("x"), 0o644)
	os.WriteFile(directory+"/run", []byte("#!/bin/sh\necho ran\n"), 0o755)
	os.WriteFile(directory+"/orphan", []byte("#!/no/such/interpreter\n"), 0o755)
	os.WriteFile(directory+"/format", []byte("no program"), 0o755)
	env := object{"PATH": directory}
	for name, c := range map[string]struct {
		spec           object
		stdout, stderr string
		exit           exitEvent
	}{
		"echo":              {object{"command": "echo", "args": []string{"a b", "c"}}, "a b c\n", "", exitEvent{}},
		"both streams":      {script("echo out; echo err >&2; exit 7"), "out\n", "err\n", exitEvent{ExitCode: 7}},
		"no input":          {object{"command": "cat"}, "", "", exitEvent{}},
		"signal":            {script("kill -TERM $$"), "", "", exitEvent{ExitCode: 143, Signal: "TERM"}},
		"cwd":               {with(script("pwd"), "cwd", "/usr"), "/usr\n", "", exitEvent{}},
		"relative cwd":      {with(script("pwd"), "cwd", "usr"), "/usr\n", "", exitEvent{}},
		"default cwd":       {script("pwd"), "/\n", "", exitEvent{}},
		"own PATH":          {object{"command": "run", "env": env}, "ran\n", "", exitEvent{}},
		"relative to cwd":   {object{"command": "./run", "cwd": directory}, "ran\n", "", exitEvent{}},
		"not found":         {object{"command": "no-such"}, "", "no-such: command not found\n", exitEvent{ExitCode: 127}},
		"path not found":    {object{"command": "/no/such"}, "", "/no/such: command not found\n", exitEvent{ExitCode: 127}},
		"empty command":     {object{"command": ""}, "", ": command not found\n", exitEvent{ExitCode: 127}},
		"no interpreter":    {object{"command": "orphan", "env": env}, "", "orphan: its interpreter was not found\n", exitEvent{ExitCode: 127}},
		"not executable":    {object{"command": "plain", "env": env}, "", "plain: permission denied\n", exitEvent{ExitCode: 126}},
		"a directory":       {object{"command": "/usr"}, "", "/usr: is a directory\n", exitEvent{ExitCode: 126}},
		"not a program":     {object{"command": "format", "env": env}, "", "format: exec format error\n", exitEvent{ExitCode: 126}},
		"nulls are absent":  {object{"command": "true", "args": nil, "env": nil, "cwd": nil, "user": nil, "timeout_ms": nil}, "", "", exitEvent{}},
		"timeout not met":   {with(script("echo x"), "timeout_ms", 60_000), "x\n", "", exitEvent{}},
		"timeout":           {with(script("echo x; sleep 60"), "timeout_ms", 200), "x\n", "", exitEvent{124, "KILL", true}},
		"timeout of a tree": {with(script("(sleep 60 & sleep 60) | cat"), "timeout_ms", 200), "", "", exitEvent{124, "KILL", true}},
	} {
		got := execute(t, c.spec, nil)
		if got.status != 200 || string(got.stdout) != c.stdout || string(got.stderr) != c.stderr || got.exit == nil || *got.exit != c.exit {
			t.Errorf("%s: %d %q %q %+v", name, got.status, got.stdout, got.stderr, got.exit)
		}
		if refused := c.exit.ExitCode == 126 || c.exit.ExitCode == 127; (got.started == nil) != refused {
			t.Errorf("%s: started %+v", name, got.started)
		}
	}
}

func TestExecRefusesBeforeTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		spec    object
		status  int
		failure failure
	}{
		"cwd":       {with(script(""), "cwd", "/no"), 422, failure{"ENOENT", "chdir /no: no such file or directory", "/no"}},
		"cwd file":  {with(script(""), "cwd", "/etc/passwd"), 422, failure{"ENOTDIR", "chdir /etc/passwd: not a directory", "/etc/passwd"}},
		"user":      {with(script(""), "user", "nobody-here"), 422, failure{"EINVAL", `user "nobody-here": no such user in /etc/passwd`, ""}},
		"nul":       {object{"command": "a\x00b"}, 400, failure{"EINVAL", "command, args, cwd and user hold no NUL", ""}},
		"timeout":   {with(script(""), "timeout_ms", -1), 400, failure{"EINVAL", "timeout_ms is not negative", ""}},
		"variables": {with(script(""), "env", object{"": "x"}), 400, failure{"EINVAL", `env: "" is not a variable`, ""}},
	} {
		if got := execute(t, c.spec, nil); got.status != c.status || got.failure != c.failure {
			t.Errorf("%s: %d %+v", name, got.status, got.failure)
		}
	}
	for _, body := range []string{"", "\x00", "\x00\x00\x00\x00\x05{}", "\x01\x00\x00\x00\x00", "\x00\x00\x00\x00\x01x", "\x00\xff\xff\xff\xff"} {
		if status, answer := call(t, "POST", "/exec", body); status != 400 {
			t.Errorf("%q: %d %s", body, status, answer)
		}
	}
}

func TestExecAsAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	private := t.TempDir()
	os.Chmod(private, 0o700)
	got := execute(t, with(script("id -u; id -g; id -G; echo $HOME"), "user", "4242:50"), nil)
	if string(got.stdout) != "4242\n50\n50\n/\n" {
		t.Errorf("%q %q", got.stdout, got.stderr)
	}
	got = execute(t, with(with(script(""), "user", "4242"), "cwd", private), nil)
	if got.status != 422 || got.failure.Errno != "EACCES" || got.failure.Path != private {
		t.Errorf("%d %+v", got.status, got.failure)
	}
	os.Chmod(filepath.Dir(private), 0o755)
	os.Chmod(private, 0o755)
	os.WriteFile(private+"/mine", []byte("#!/bin/sh\n"), 0o700)
	got = execute(t, object{"command": "/etc/../" + private + "/mine", "user": "4242"}, nil)
	if got.status == 200 && got.exit.ExitCode != 126 {
		t.Errorf("%+v", got.exit)
	}
}

func TestExecEnvironment(t *testing.T) {
	if status, body := call(t, "POST", "/configure", `{"env":{"A":"sandbox","B":"sandbox","LANG":"C"}}`); status != 204 {
		t.Fatalf("%d %s", status, body)
	}
	defer call(t, "POST", "/configure", `{"env":{}}`)
	got := execute(t, object{"command": "env", "env": object{"B": "call"}}, nil)
	lines := "\n" + string(got.stdout)
	for _, want := range []string{"A=sandbox", "B=call", "LANG=C", "PATH=" + defaultPath, "HOME=/root", "USER=root", "LOGNAME=root"} {
		if !strings.Contains(lines, "\n"+want+"\n") {
			t.Errorf("%s is missing in %s", want, lines)
		}
	}
	if count := strings.Count(lines, "\n") - 1; count != 8 {
		t.Errorf("%d variables: %s", count, lines)
	}
	call(t, "POST", "/configure", `{"env":null}`)
	if got := execute(t, script("echo $A"), nil); string(got.stdout) != "sandbox\n" {
		t.Errorf("null replaced the environment: %q", got.stdout)
	}
}

func TestExecInput(t *testing.T) {
	input := bytes.Repeat([]byte("0123456789abcdef"), 300_000)
	got := execute(t, object{"command": "cat"}, func(w *frame.Writer) {
		for part := range 10 {
			w.Put(requestStdin, input[part*len(input)/10:(part+1)*len(input)/10])
			w.Put(200, []byte("a type of a later generation"))
		}
	})
	if !bytes.Equal(got.stdout, input) {
		t.Errorf("%d of %d bytes", len(got.stdout), len(input))
	}
}

func TestExecInputEndsByItsFrame(t *testing.T) {
	release := make(chan struct{})
	response := begin(t, context.Background(), script("cat; echo end"), func(w *frame.Writer) {
		w.Put(requestStdin, []byte("x"))
		w.Put(requestStdinEOF, nil)
		<-release
	})
	if got := finish(t, response); string(got.stdout) != "xend\n" || got.exit.ExitCode != 0 {
		t.Errorf("%q %+v", got.stdout, got.exit)
	}
	close(release)
}

func TestExecThatReadsNoInput(t *testing.T) {
	got := execute(t, script("exec <&-; sleep 0.3; echo done"), func(w *frame.Writer) {
		w.Put(requestStdin, make([]byte, 5<<20))
	})
	if string(got.stdout) != "done\n" || got.exit.ExitCode != 0 {
		t.Errorf("%q %+v", got.stdout, got.exit)
	}
}

func TestExecLargeOutputOnBothStreams(t *testing.T) {
	got := execute(t, script("head -c 10000000 /dev/zero & head -c 10000000 /dev/zero >&2; wait"), nil)
	if len(got.stdout) != 10_000_000 || len(got.stderr) != 10_000_000 {
		t.Errorf("%d and %d bytes", len(got.stdout), len(got.stderr))
	}
}

func TestExecManyAtOnce(t *testing.T) {
	var calls sync.WaitGroup
	for range 50 {
		calls.Add(1)
		go func() {
			defer calls.Done()
			got := execute(t, object{"command": "cat"}, func(w *frame.Writer) { w.Put(requestStdin, make([]byte, 100_000)) })
			if len(got.stdout) != 100_000 {
				t.Errorf("%d bytes", len(got.stdout))
			}
		}()
	}
	calls.Wait()
}

func TestExecDoesNotWaitForAChild(t *testing.T) {
	begun := time.Now()
	got := execute(t, script("sleep 2 & echo started"), nil)
	if string(got.stdout) != "started\n" || time.Since(begun) > time.Second {
		t.Errorf("%q after %v", got.stdout, time.Since(begun))
	}
}

func TestExecIsKilledWhenTheHostGoes(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	response := begin(t, ctx, script("echo here; sleep 60 & sleep 60; true"), nil)
	kind, payload, err := frame.NewReader(response.Body).Next()
	if err != nil || kind != responseStarted {
		t.Fatalf("%d %v", kind, err)
	}
	var started startedEvent
	json.NewDecoder(payload).Decode(&started)
	cancel()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if syscall.Kill(-started.PID, 0) == syscall.ESRCH {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the group lives on")
		}
	}
}
