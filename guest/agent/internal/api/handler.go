package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// maxBody bounds a JSON body in bytes.
const maxBody = 16 << 20

// handlerStack is the room in bytes that an exec takes, which is more than most.
const handlerStack = 8 << 10

// octets is the content type of what does not say another.
var octets = []string{"application/octet-stream"}

// handler serves one route; the error it returns becomes the response.
type handler func(w http.ResponseWriter, r *http.Request) error

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	growStack(false)
	// Said here, so that the server neither formats the date nor looks into the body for its type: the host asks for neither.
	w.Header()["Date"], w.Header()["Content-Type"] = nil, octets
	tracked := &response{ResponseWriter: w}
	if err := h(tracked, r); err != nil {
		writeError(tracked, err)
	}
}

// growStack gives the goroutine of a request the stack that most handlers need. To grow one, the runtime looks up each frame that is on it: it
// does so once here, where few are. The frame has its size whether the room is used or not.
//
//go:noinline
func growStack(isUsed bool) byte {
	if !isUsed {
		return 0
	}
	var room [handlerStack]byte
	return room[os.Getpid()%handlerStack]
}

// response knows whether it has begun.
type response struct {
	http.ResponseWriter
	begun bool
}

func (w *response) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(p []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(p)
}

// Unwrap lets an http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// action is a route that takes a JSON body and answers 204.
func action[Request any](do func(context.Context, Request) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		request, err := readJSON[Request](w, r)
		if err != nil {
			return err
		}
		if err := do(r.Context(), request); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// query is a route that takes a JSON body and answers with one.
func query[Request, Response any](do func(context.Context, Request) (Response, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		request, err := readJSON[Request](w, r)
		if err != nil {
			return err
		}
		response, err := do(r.Context(), request)
		if err != nil {
			return err
		}
		writeJSON(w, http.StatusOK, response)
		return nil
	}
}

// readJSON reads the whole body; an empty one equals {}.
func readJSON[T any](w http.ResponseWriter, r *http.Request) (value T, err error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return value, malformed(fmt.Sprintf("body exceeds %d bytes", maxBody))
	}
	if err != nil {
		return value, requestError{err}
	}
	if len(body) == 0 {
		return value, nil
	}
	return parseJSON[T](body)
}

func parseJSON[T any](text []byte) (value T, err error) {
	if err := json.Unmarshal(text, &value); err != nil {
		return value, requestError{err}
	}
	return value, nil
}
