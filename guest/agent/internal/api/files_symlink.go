package api

import (
	"context"

	"atoll/guest/agent/internal/fileops"
)

type symlinkRequest struct {
	Target   string    `json:"target"`
	LinkPath guestPath `json:"link_path"`
}

func symlink(_ context.Context, request symlinkRequest) error {
	if err := required(request.LinkPath); err != nil {
		return err
	}
	return fileops.Symlink(request.Target, request.LinkPath.absolute())
}
