package api

import (
	"context"

	"atoll/guest/agent/internal/fileops"
)

type moveRequest struct {
	From guestPath `json:"from"`
	To   guestPath `json:"to"`
}

func rename(_ context.Context, request moveRequest) error {
	if err := required(request.From, request.To); err != nil {
		return err
	}
	return fileops.Rename(request.From.absolute(), request.To.absolute())
}
