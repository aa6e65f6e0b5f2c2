package api

import (
	"context"

	"atoll/guest/agent/internal/fileops"
)

type mkdirRequest struct {
	Path    guestPath `json:"path"`
	Parents bool      `json:"parents"`
}

func mkdir(_ context.Context, request mkdirRequest) error {
	if err := required(request.Path); err != nil {
		return err
	}
	return fileops.Mkdir(request.Path.absolute(), request.Parents)
}
