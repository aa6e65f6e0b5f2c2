package api

import (
	"context"

	"atoll/guest/agent/internal/fileops"
)

type chownRequest struct {
	Path guestPath `json:"path"`
	UID  *int64    `json:"uid"`
	GID  *int64    `json:"gid"`
}

func chown(_ context.Context, request chownRequest) error {
	if err := required(request.Path); err != nil {
		return err
	}
	if !isOwner(request.UID) || !isOwner(request.GID) {
		return malformed("uid and gid are numbers from 0 to 4294967294, or -1")
	}
	return fileops.Chown(request.Path.absolute(), int(*request.UID), int(*request.GID))
}

func isOwner(id *int64) bool { return id != nil && *id >= -1 && *id < 1<<32-1 }
