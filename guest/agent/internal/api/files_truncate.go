package api

import (
	"context"

	"atoll/guest/agent/internal/fileops"
)

type truncateRequest struct {
	Path guestPath `json:"path"`
	Size *int64    `json:"size"`
}

func truncate(_ context.Context, request truncateRequest) error {
	if err := required(request.Path); err != nil {
		return err
	}
	if request.Size == nil || *request.Size < 0 {
		return malformed("size is a number, not negative")
	}
	return fileops.Truncate(request.Path.absolute(), *request.Size)
}
