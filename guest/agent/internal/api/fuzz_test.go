package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"atoll/guest/agent/internal/frame"
	"atoll/guest/agent/internal/process"
)

// FuzzSpec: the first frame of a duplex request is refused, or has nothing in it that the kernel would read otherwise.
func FuzzSpec(f *testing.F) {
	for _, text := range []string{
		`{"command":"true","args":["a"],"env":{"A":"b"},"cwd":"/","user":"root","timeout_ms":5}`,
		`{"command":"a\u0000b"}`, `{"env":{"A=B":""}}`, `{"timeout_ms":-1}`, `{"timeout_ms":9223372036854775807}`,
		`{"cols":80,"rows":24}`, `{"cols":-1}`, `{"port":65536}`, `{"port":80}`, `null`, `[]`, `{"command":null}`, "\xff",
	} {
		f.Add(append([]byte{requestSpec, 0, 0, 0, byte(len(text))}, text...))
	}
	f.Add([]byte{requestSpec, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{requestStdin, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		spec, err := readSpec[execSpec](frame.NewReader(bytes.NewReader(data)))
		if err == nil {
			if strings.Contains(spec.Command+spec.Cwd+spec.User+strings.Join(spec.Args, ""), "\x00") || spec.timeout() < 0 {
				t.Errorf("%q is taken as %v", data, spec)
			}
		}
		if terminal, err := readSpec[terminalSpec](frame.NewReader(bytes.NewReader(data))); err == nil && terminal.Cols == 0 {
			t.Errorf("%q is a terminal", data)
		}
		if tunnel, err := readSpec[tunnelSpec](frame.NewReader(bytes.NewReader(data))); err == nil && tunnel.Port == 0 {
			t.Errorf("%q is a tunnel", data)
		}
	})
}

// FuzzConfigure: an identity is checked whole before any of it is applied, whatever it is.
func FuzzConfigure(f *testing.F) {
	f.Add([]byte(`{"env":{"A":"b"},"hostname":"box","machine_id":"0123456789abcdef0123456789abcdef","clock_unix_ns":"1","entropy_base64":"AA=="}`))
	f.Add([]byte(`{"network":{"mac":"02:00:00:00:00:01","address":"10.0.0.2/24","gateway":"10.0.0.1"}}`))
	f.Add([]byte(`{"hostname":"","machine_id":"","clock_unix_ns":"","entropy_base64":"*","network":{}}`))
	f.Add([]byte(`{"env":{"":""}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var request configureRequest
		if json.Unmarshal(data, &request) != nil {
			return
		}
		request.clock()
		request.entropy()
		request.network()
		if request.check() == nil && request.Env != nil {
			for _, pair := range pairs(*request.Env) {
				if strings.HasPrefix(pair, "=") || strings.Contains(pair, "\x00") {
					t.Errorf("%q is a variable", pair)
				}
			}
		}
	})
}

// harmless are the routes that a fuzzed request may reach on the host of the tests: they change nothing there.
var harmless = map[string]bool{"GET /health": true, "POST /signal": true, "POST /resize": true, "POST /files/readlink": true, "POST /nothing": true}

// FuzzRoutes: a request is answered, by a status that the daemon knows, with JSON where it is an error.
func FuzzRoutes(f *testing.F) {
	f.Add("POST /files/readlink", []byte(`{"path":"/proc/self/exe"}`))
	f.Add("POST /files/readlink", []byte(`{"path":"a\u0000b"}`))
	f.Add("POST /signal", []byte(`{"pid":-1,"signal":"KILL"}`))
	f.Add("POST /signal", []byte(`{"pid":9223372036854775807,"signal":""}`))
	f.Add("POST /resize", []byte(`{"pid":1,"cols":70000,"rows":0}`))
	f.Add("POST /nothing", []byte(`{}`))
	f.Add("GET /health", []byte(`[`))
	routes := dispatch(NewServer(process.StartReaper(), closed()).routes())
	f.Fuzz(func(t *testing.T, route string, body []byte) {
		if !harmless[route] {
			t.Skip("may change the host")
		}
		method, path, _ := strings.Cut(route, " ")
		answer := httptest.NewRecorder()
		routes.ServeHTTP(answer, httptest.NewRequest(method, path, bytes.NewReader(body)))
		switch answer.Code {
		case http.StatusOK, http.StatusNoContent:
		case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
			var said failure
			if err := json.Unmarshal(answer.Body.Bytes(), &said); err != nil || said.Errno == "" {
				t.Errorf("%s %q: %d %q", route, body, answer.Code, answer.Body)
			}
		default:
			t.Errorf("%s %q: %d", route, body, answer.Code)
		}
	})
}
