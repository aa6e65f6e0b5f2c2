package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"atoll/guest/agent/internal/process"
)

// closed is a channel that nobody waits for.
func closed() <-chan struct{} {
	channel := make(chan struct{})
	close(channel)
	return channel
}

// client talks to a server of the test binary, which has one reaper and so one server.
var client = sync.OnceValue(func() *http.Client {
	// Orphans come to the reaper, as they do to PID 1.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go NewServer(process.StartReaper(), closed()).Serve(listener)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{
		Protocols: protocols,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
		},
	}}
})

func send(t *testing.T, ctx context.Context, method, route string, body io.Reader) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, "http://agent"+route, body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

// call makes a request and returns status and body.
func call(t *testing.T, method, route, body string) (int, string) {
	t.Helper()
	response := send(t, context.Background(), method, route, strings.NewReader(body))
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// ask is call with JSON both ways.
func ask(t *testing.T, route string, request any) (int, map[string]any) {
	t.Helper()
	text, _ := json.Marshal(request)
	status, answer := call(t, "POST", route, string(text))
	var parsed map[string]any
	if answer != "" {
		if err := json.Unmarshal([]byte(answer), &parsed); err != nil {
			t.Fatalf("%s: %v in %q", route, err, answer)
		}
	}
	return status, parsed
}

type object map[string]any

func TestHealth(t *testing.T) {
	status, body := call(t, "GET", "/health", "")
	var report healthReport
	json.Unmarshal([]byte(body), &report)
	if status != 200 || report.Generation != Generation || report.Version != Version || report.Kernel == "" || report.UptimeMS <= 0 {
		t.Errorf("%d %s", status, body)
	}
}

func TestUnknownRoute(t *testing.T) {
	for _, route := range []string{"GET /none", "POST /health", "POST /files/read/", "DELETE /exec"} {
		method, path, _ := strings.Cut(route, " ")
		status, body := call(t, method, path, "")
		if status != 404 || !strings.Contains(body, `"errno":"ENOSYS"`) {
			t.Errorf("%s: %d %s", route, status, body)
		}
	}
}

func TestMalformedRequests(t *testing.T) {
	for _, c := range []struct{ route, body, want string }{
		{"/files/read", `{`, "JSON"},
		{"/files/read", `[]`, "array"},
		{"/files/read", ``, "path"},
		{"/files/read", `{"path":""}`, "path"},
		{"/files/read", `{"path":5}`, "path"},
		{"/files/read", `{"path":"/x","offset":-1}`, "negative"},
		{"/files/read", `{"path":"/x","length":-1}`, "negative"},
		{"/files/write", `x`, "path"},
		{"/files/write?path=/tmp/x&mode=9", `x`, "octal"},
		{"/files/write?path=/tmp/x&mode=10000", `x`, "octal"},
		{"/files/chmod", `{"path":"/x"}`, "mode"},
		{"/files/chmod", `{"path":"/x","mode":4096}`, "mode"},
		{"/files/chmod", `{"path":"/x","mode":-1}`, "mode"},
		{"/files/chown", `{"path":"/x","uid":1}`, "gid"},
		{"/files/chown", `{"path":"/x","uid":1,"gid":4294967295}`, "gid"},
		{"/files/rename", `{"from":"/x"}`, "path"},
		{"/files/truncate", `{"path":"/x"}`, "size"},
		{"/files/truncate", `{"path":"/x","size":1.5}`, "size"},
		{"/configure", `{"hostname":"a b"}`, "hostname"},
		{"/configure", `{"machine_id":"x"}`, "machine_id"},
		{"/configure", `{"clock_unix_ns":"soon"}`, "clock_unix_ns"},
		{"/configure", `{"clock_unix_ns":5}`, "clock_unix_ns"},
		{"/configure", `{"entropy_base64":"*"}`, "entropy_base64"},
		{"/configure", `{"env":{"A=B":"c"}}`, "env"},
		{"/configure", `{"env":{"A":"\u0000"}}`, "env"},
	} {
		status, body := call(t, "POST", c.route, c.body)
		var answer failure
		json.Unmarshal([]byte(body), &answer)
		if status != 400 || answer.Errno != "EINVAL" || !strings.Contains(answer.Message, c.want) {
			t.Errorf("%s %s: %d %s", c.route, c.body, status, body)
		}
	}
}

func TestBodyTooLarge(t *testing.T) {
	body := bytes.NewReader(make([]byte, maxBody+1))
	if response := send(t, context.Background(), "POST", "/files/read", body); response.StatusCode != 400 {
		t.Errorf("%d", response.StatusCode)
	}
}

func TestFiles(t *testing.T) {
	directory := t.TempDir()
	file := directory + "/f"
	content := strings.Repeat("0123456789", 300_000)
	if status, body := call(t, "POST", "/files/write?mode=600&path="+file, content); status != 204 {
		t.Fatalf("%d %s", status, body)
	}
	for _, c := range []struct {
		request object
		want    string
	}{
		{object{"path": file}, content},
		{object{"path": file, "offset": nil, "length": nil}, content},
		{object{"path": file, "offset": 5, "length": 3}, "567"},
		{object{"path": file, "offset": 1 << 30}, ""},
	} {
		text, _ := json.Marshal(c.request)
		response := send(t, context.Background(), "POST", "/files/read", bytes.NewReader(text))
		got, _ := io.ReadAll(response.Body)
		if string(got) != c.want || response.ContentLength != int64(len(c.want)) {
			t.Errorf("%s: %d bytes of %d", text, len(got), response.ContentLength)
		}
	}
	for _, step := range []struct {
		route   string
		request object
	}{
		{"/files/chmod", object{"path": file, "mode": 0o640}},
		{"/files/chown", object{"path": file, "uid": -1, "gid": -1}},
		{"/files/mkdir", object{"path": directory + "/d/e", "parents": true}},
		{"/files/copy", object{"from": file, "to": directory + "/d/g"}},
		{"/files/rename", object{"from": directory + "/d/g", "to": directory + "/d/h"}},
		{"/files/symlink", object{"target": "h", "link_path": directory + "/d/l"}},
		{"/files/truncate", object{"path": directory + "/d/h", "size": 7}},
	} {
		if status, answer := ask(t, step.route, step.request); status != 204 {
			t.Errorf("%s: %d %v", step.route, status, answer)
		}
	}
	if _, answer := ask(t, "/files/readlink", object{"path": directory + "/d/l"}); answer["target"] != "h" {
		t.Errorf("%v", answer)
	}
	status, body := call(t, "POST", "/files/list-dir", `{"path":"`+directory+`/d"}`)
	var list struct{ Entries []map[string]any }
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 || len(list.Entries) != 3 {
		t.Fatalf("%d %s", status, body)
	}
	if h := list.Entries[1]; h["name"] != "h" || h["size"] != 7.0 || h["mode"] != float64(0o640) || h["is_dir"] != false {
		t.Errorf("%v", h)
	}
	if status, body := call(t, "POST", "/files/list-dir", `{"path":"`+directory+`/d/e"}`); body != `{"entries":[]}` {
		t.Errorf("%d %s", status, body)
	}
}

func TestOperationErrors(t *testing.T) {
	for _, c := range []struct {
		route         string
		request       object
		errno, prefix string
		path          any
	}{
		{"/files/read", object{"path": "/no/such"}, "ENOENT", "open /no/such: no such file", "/no/such"},
		{"/files/read", object{"path": "no/such"}, "ENOENT", "open /no/such: no such file", "/no/such"},
		{"/files/read", object{"path": "/etc"}, "EISDIR", "open /etc: is a directory", "/etc"},
		{"/files/list-dir", object{"path": "/etc/passwd"}, "ENOTDIR", "open /etc/passwd: not a directory", "/etc/passwd"},
		{"/files/readlink", object{"path": "/etc"}, "EINVAL", "readlink /etc: invalid argument", "/etc"},
		{"/files/rename", object{"from": "/no/a", "to": "/no/b"}, "ENOENT", "rename /no/a /no/b: no such file", "/no/a"},
		{"/files/copy", object{"from": "/etc", "to": "/etc/x"}, "EINVAL", "copy /etc /etc/x: invalid", "/etc"},
		{"/files/mkdir", object{"path": "/etc"}, "EEXIST", "mkdir /etc: file exists", "/etc"},
	} {
		status, answer := ask(t, c.route, c.request)
		message, _ := answer["message"].(string)
		if status != 422 || answer["errno"] != c.errno || !strings.HasPrefix(message, c.prefix) || answer["path"] != c.path {
			t.Errorf("%s %v: %d %v", c.route, c.request, status, answer)
		}
	}
}
