package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// request is one line. Of its actions one is given.
type request struct {
	ID int `json:"id"`
	// Open puts guests on their taps, all of them or none.
	Open []guest `json:"open"`
	// Close takes guests off their taps, as much of them as is there, and forgets their connections.
	Close []guest `json:"close"`
	// Forget is a network whose connections are forgotten.
	Forget string `json:"forget"`
}

type answer struct {
	ID    int    `json:"id"`
	Error string `json:"error,omitempty"`
}

// serve answers requests until the input ends. One that takes long does not keep the others waiting.
func serve(h *host, in io.Reader, out io.Writer) error {
	var writing sync.Mutex
	answers := json.NewEncoder(out)
	requests := json.NewDecoder(in)
	for {
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("a request that is none: %w", err)
		}
		go func() {
			a := answer{ID: r.ID}
			if err := h.do(r); err != nil {
				a.Error = err.Error()
			}
			writing.Lock()
			defer writing.Unlock()
			// Nobody reads any more: the input ends then, too.
			_ = answers.Encode(a)
		}()
	}
}

func (h *host) do(r request) error {
	switch {
	case r.Open != nil:
		return h.open(r.Open)
	case r.Close != nil:
		return h.close(r.Close)
	case r.Forget != "":
		return h.forgetNetwork(r.Forget)
	default:
		return errors.New("a request without an action")
	}
}
