package api

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// requestError is a request that is malformed: 400.
type requestError struct{ cause error }

func (e requestError) Error() string { return e.cause.Error() }

// malformed states what is wrong with the request.
func malformed(text string) error { return requestError{errors.New(text)} }

// operationError is a failed operation whose message is more than that of its errno: 422.
type operationError struct {
	errno   syscall.Errno
	message string
}

func (e operationError) Error() string { return e.message }
func (e operationError) Unwrap() error { return e.errno }

// failure is the body of an error.
type failure struct {
	Errno   string `json:"errno"`
	Message string `json:"message"`
	Path    string `json:"path,omitempty"`
}

// describe maps every error to its status and body.
func describe(err error) (status int, body failure) {
	body = failure{Errno: "EIO", Message: err.Error()}
	var request requestError
	if errors.As(err, &request) {
		body.Errno = "EINVAL"
		return http.StatusBadRequest, body
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		body.Errno = unix.ErrnoName(errno)
	}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		body.Path = path.Path
	case errors.As(err, &link):
		body.Path = link.Old
	}
	return http.StatusUnprocessableEntity, body
}

// writeError answers with an error. After the response has begun it resets the stream instead: the host must not take what
// came for the whole.
func writeError(w *response, err error) {
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	w.Header().Del("Content-Length")
	status, body := describe(err)
	writeJSON(w, status, body)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(text)
}
