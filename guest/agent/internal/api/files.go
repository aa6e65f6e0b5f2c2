package api

import (
	"atoll/guest/agent/internal/fileops"
)

const maxMode = 0o7777

// guestPath is a path of a request, taken from the root directory. The empty one names nothing and is malformed.
type guestPath string

// required checks the paths of a request.
func required(paths ...guestPath) error {
	for _, path := range paths {
		if path == "" {
			return malformed("a path is missing or empty")
		}
	}
	return nil
}

func (p guestPath) absolute() string { return fileops.Absolute(string(p)) }
