package api

import (
	"context"

	"atoll/guest/agent/internal/fileops"
)

type readlinkRequest struct {
	Path guestPath `json:"path"`
}

type readlinkResponse struct {
	Target string `json:"target"`
}

func readlink(_ context.Context, request readlinkRequest) (readlinkResponse, error) {
	if err := required(request.Path); err != nil {
		return readlinkResponse{}, err
	}
	target, err := fileops.Readlink(request.Path.absolute())
	return readlinkResponse{target}, err
}
