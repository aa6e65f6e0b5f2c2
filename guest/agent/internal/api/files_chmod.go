package api

import (
	"context"

	"atoll/guest/agent/internal/fileops"
)

type chmodRequest struct {
	Path guestPath `json:"path"`
	Mode *uint32   `json:"mode"`
}

func chmod(_ context.Context, request chmodRequest) error {
	if err := required(request.Path); err != nil {
		return err
	}
	if request.Mode == nil || *request.Mode > maxMode {
		return malformed("mode is a number from 0 to 4095")
	}
	return fileops.Chmod(request.Path.absolute(), *request.Mode)
}
